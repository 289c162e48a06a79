import { Icon } from "../icons.tsx";
import type { Attachment, ShownFile } from "./attachment.ts";

/** The files of a message that was sent. */
export function FileList({ files }: { files: readonly ShownFile[] }) {
  if (files.length === 0) return null;
  return (
    <ul className="files" aria-label="Files">
      {files.map((file, at) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: a message that was sent does not change.
        <li key={at}>
          {file.image ? (
            <img className="sent-image" src={file.image} alt={file.name} />
          ) : (
            <FileChip file={file} />
          )}
        </li>
      ))}
    </ul>
  );
}

function FileChip({ file }: { file: ShownFile }) {
  if (file.text === undefined) {
    return (
      <span className="file-chip">
        <Icon name="file" />
        {file.name}
      </span>
    );
  }
  return (
    <details className="file-text">
      <summary className="file-chip">
        <Icon name="file" />
        {file.name}
      </summary>
      <pre>{file.text}</pre>
    </details>
  );
}

/** The files of the message being written. */
export function DraftFiles({
  files,
  onRemove,
}: {
  files: readonly Attachment[];
  onRemove(id: string): void;
}) {
  if (files.length === 0) return null;
  return (
    <ul className="files" aria-label="Files to send">
      {files.map(({ id, name, kind, mimeType, data }) => (
        <li key={id} className="file-chip">
          {kind === "image" ? <img src={`data:${mimeType};base64,${data}`} alt="" /> : <Icon name="file" />}
          <span>{name}</span>
          <button
            type="button"
            className="quiet small"
            aria-label={`Remove ${name}`}
            onClick={() => onRemove(id)}
          >
            <Icon name="cross" />
          </button>
        </li>
      ))}
    </ul>
  );
}
