import { type KeyboardEvent, type RefObject, useEffect, useRef, useState } from "react";
import type { Attachment } from "./attachments/attachment.ts";
import { DraftFiles } from "./attachments/file-list.tsx";
import { useAttachments } from "./attachments/use-attachments.ts";
import { Icon } from "./icons.tsx";
import { preloadMarkdown } from "./markdown.tsx";
import { ModelPicker } from "./model/model-picker.tsx";
import type { Model } from "./model/use-model.ts";
import { AgentPicker, type AgentPickerProps } from "./servers/agent-picker.tsx";

export type ComposerProps = {
  picker: Omit<AgentPickerProps, "disabled">;
  model: Model;
  busy: boolean;
  /** Why nothing can be sent now. */
  blocked: string | undefined;
  draft: string;
  onDraft(text: string): void;
  onSend(text: string, files: readonly Attachment[]): void;
  onStop(): void;
  /** Arrow up in an empty field: change one's last message. */
  onEditLast(): void;
  field: RefObject<HTMLTextAreaElement | null>;
};

export function Composer(props: ComposerProps) {
  const { picker, model, busy, blocked, field, onDraft } = props;
  const [text, setText] = useState(props.draft);
  const attachments = useAttachments(model.textOnly);
  const chooser = useRef<HTMLInputElement>(null);
  const ready = (text.trim() !== "" || attachments.files.length > 0) && blocked === undefined;

  useEffect(() => {
    const area = field.current;
    if (!area) return;
    area.style.height = "auto";
    area.style.height = text === "" ? "" : `${area.scrollHeight}px`;
  }, [text, field]);

  const change = (value: string) => {
    setText(value);
    onDraft(value);
  };
  const send = () => {
    if (!ready) return;
    props.onSend(text.trim(), attachments.files);
    change("");
    attachments.clear();
  };
  const onKeyDown = (event: KeyboardEvent) => {
    // Enter also ends the composition of a character, and is not ours then.
    if (event.key === "Enter" && !event.shiftKey && !event.nativeEvent.isComposing) {
      event.preventDefault();
      send();
    } else if (event.key === "ArrowUp" && text === "") {
      event.preventDefault();
      props.onEditLast();
    }
  };
  return (
    <form
      className="composer"
      onSubmit={(event) => {
        event.preventDefault();
        send();
      }}
      onDragOver={(event) => {
        if (event.dataTransfer.types.includes("Files")) event.preventDefault();
      }}
      onDrop={(event) => {
        if (event.dataTransfer.files.length === 0) return;
        event.preventDefault();
        attachments.add([...event.dataTransfer.files]);
      }}
    >
      <DraftFiles files={attachments.files} onRemove={attachments.remove} />
      {attachments.problem && (
        <p className="field-problem" role="alert">
          {attachments.problem}
        </p>
      )}
      <textarea
        ref={field}
        rows={1}
        aria-label="Message"
        placeholder={blocked ?? (busy ? "Write the next message" : "Write a message")}
        value={text}
        onChange={(event) => change(event.target.value)}
        onKeyDown={onKeyDown}
        onFocus={preloadMarkdown}
        onPaste={(event) => {
          if (event.clipboardData.files.length === 0) return;
          event.preventDefault();
          attachments.add([...event.clipboardData.files]);
        }}
      />
      <div className="composer-row">
        <input
          ref={chooser}
          type="file"
          className="hidden"
          tabIndex={-1}
          multiple
          aria-label="Files to attach"
          accept={
            model.textOnly
              ? undefined
              : "image/png,image/jpeg,image/gif,image/webp,application/pdf,text/*,.md,.csv,.json"
          }
          onChange={(event) => {
            attachments.add([...(event.target.files ?? [])]);
            event.target.value = "";
          }}
        />
        <button
          type="button"
          className="quiet round-quiet"
          aria-label="Attach files"
          title={model.textOnly ? "Attach text files" : "Attach images, PDF or text"}
          onClick={() => chooser.current?.click()}
        >
          <Icon name="clip" />
        </button>
        <AgentPicker {...picker} disabled={busy} />
        <ModelPicker model={model} disabled={busy} />
        <span className="hints" aria-hidden="true">
          <kbd>Enter</kbd> sends · <kbd>Shift Enter</kbd> new line · <kbd>/</kbd> to write
          {busy && (
            <>
              {" "}
              · <kbd>Esc</kbd> stops
            </>
          )}
        </span>
        {busy && (
          <button type="button" className="round stop" onClick={props.onStop} aria-label="Stop">
            <Icon name="stop" />
          </button>
        )}
        {(!busy || ready) && (
          <button type="submit" className="round primary" disabled={!ready} aria-label="Send">
            <Icon name="send" />
          </button>
        )}
      </div>
    </form>
  );
}
