import { type KeyboardEvent, type ReactNode, useState } from "react";
import type { ShownFile } from "../attachments/attachment.ts";
import { FileList } from "../attachments/file-list.tsx";
import { Icon } from "../icons.tsx";

/** A message of the person. Changing it begins a branch: the answer that followed stays in the history. */
export function HumanMessage({
  text,
  files,
  versions,
  editing,
  onEdit,
  onBranch,
}: {
  text: string;
  files: readonly ShownFile[];
  /** The way to its other versions, if it has any. */
  versions: ReactNode;
  editing: boolean;
  /** Undefined where nothing can be changed: while an answer comes, or in the past. */
  onEdit: ((editing: boolean) => void) | undefined;
  onBranch(text: string): void;
}) {
  if (editing && onEdit) {
    return <Editor text={text} onCancel={() => onEdit(false)} onSave={onBranch} />;
  }
  return (
    <div className="human">
      <FileList files={files} />
      {text !== "" && <div className="bubble">{text}</div>}
      <div className="human-tools">
        {versions}
        {onEdit && (
          <button type="button" className="quiet small" onClick={() => onEdit(true)}>
            <Icon name="edit" />
            <span>Edit</span>
          </button>
        )}
      </div>
    </div>
  );
}

function Editor({ text, onCancel, onSave }: { text: string; onCancel(): void; onSave(text: string): void }) {
  const [draft, setDraft] = useState(text);
  const ready = draft.trim() !== "" && draft.trim() !== text.trim();
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key === "Escape") {
      event.stopPropagation();
      onCancel();
    } else if (event.key === "Enter" && !event.shiftKey && !event.nativeEvent.isComposing) {
      event.preventDefault();
      if (ready) onSave(draft.trim());
    }
  };
  return (
    <form
      className="human editor"
      onSubmit={(event) => {
        event.preventDefault();
        if (ready) onSave(draft.trim());
      }}
    >
      <textarea
        aria-label="Edit your message"
        // biome-ignore lint/a11y/noAutofocus: the person has just asked to type here.
        autoFocus
        rows={Math.min(10, draft.split("\n").length + 1)}
        value={draft}
        onChange={(event) => setDraft(event.target.value)}
        onKeyDown={onKeyDown}
      />
      <div className="row">
        <span className="muted">Sending starts a new branch from here.</span>
        <button type="button" className="quiet" onClick={onCancel}>
          Cancel
        </button>
        <button type="submit" className="primary" disabled={!ready}>
          <Icon name="branch" />
          Send as a branch
        </button>
      </div>
    </form>
  );
}
