import { FileArchive, FolderUp } from "lucide-react";
import { type DragEvent, useRef, useState } from "react";
import { Button } from "../../../ui/index.ts";
import { isArchiveName, type ReadFolder, readChosen, readDropped } from "./read-folder.ts";

/** Takes a folder, dropped or chosen with a button; and an archive where one may be given instead. */
export function DropZone({
  busy,
  chosen,
  onTake,
  onArchive,
}: {
  busy: boolean;
  chosen: string | undefined;
  onTake(reading: () => Promise<ReadFolder>): void;
  onArchive?(archive: File): void;
}) {
  const input = useRef<HTMLInputElement>(null);
  const archive = useRef<HTMLInputElement>(null);
  const [over, setOver] = useState(false);
  const drop = (event: DragEvent) => {
    event.preventDefault();
    setOver(false);
    if (busy) return;
    const [only, ...others] = event.dataTransfer.files;
    if (onArchive && only && others.length === 0 && isArchiveName(only.name)) return onArchive(only);
    // Asked for now: the event's items are gone after it.
    const read = readDropped(event.dataTransfer.items);
    onTake(() => read);
  };
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: dropping is a second way; the button inside does the same
    <div
      className={over ? "drop-zone over" : "drop-zone"}
      onDragOver={(event) => {
        event.preventDefault();
        setOver(true);
      }}
      onDragLeave={() => setOver(false)}
      onDrop={drop}
    >
      <FolderUp aria-hidden="true" size={26} className="muted" />
      <p>{chosen ? <b className="break">{chosen}</b> : "Drop the folder with langgraph.json here, or"}</p>
      <div className="row drop-choices">
        <Button busy={busy} onClick={() => input.current?.click()}>
          {chosen ? "Choose another folder" : "Choose a folder"}
        </Button>
        {onArchive && (
          <Button look="quiet" icon={FileArchive} disabled={busy} onClick={() => archive.current?.click()}>
            Choose a .tar.gz
          </Button>
        )}
      </div>
      <input
        ref={input}
        type="file"
        hidden
        aria-label="Folder to deploy"
        {...{ webkitdirectory: "" }}
        onChange={({ target }) => {
          const { files } = target;
          if (files && files.length > 0) {
            // Copied now: the list is emptied, so that the same folder can be chosen again after a change.
            const read = Promise.resolve([...files]).then(readChosen);
            onTake(() => read);
          }
          target.value = "";
        }}
      />
      {onArchive && (
        <input
          ref={archive}
          type="file"
          hidden
          accept=".tgz,.tar.gz,application/gzip"
          aria-label="Archive to deploy"
          onChange={({ target }) => {
            const [file] = target.files ?? [];
            if (file) onArchive(file);
            target.value = "";
          }}
        />
      )}
      <p className="field-hint">
        This page reads it. Left out: files that .gitignore and .dockerignore name, node_modules, .git, .venv
        and .env files.{onArchive && " An archive is uploaded as it is."}
      </p>
    </div>
  );
}
