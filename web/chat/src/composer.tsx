import { type KeyboardEvent, type RefObject, useEffect, useState } from "react";
import type { Assistant } from "./api.ts";
import { Icon } from "./icons.tsx";

export type ComposerProps = {
  assistants: readonly Assistant[];
  assistantId: string;
  onAssistant(id: string): void;
  busy: boolean;
  /** Why nothing can be sent now. */
  blocked: string | undefined;
  draft: string;
  onDraft(text: string): void;
  onSend(text: string): void;
  onStop(): void;
  /** Arrow up in an empty field: change one's last message. */
  onEditLast(): void;
  field: RefObject<HTMLTextAreaElement | null>;
};

export function Composer(props: ComposerProps) {
  const { assistants, assistantId, busy, blocked, field, onDraft } = props;
  const [text, setText] = useState(props.draft);
  const ready = text.trim() !== "" && blocked === undefined;

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
    props.onSend(text.trim());
    change("");
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
    >
      <textarea
        ref={field}
        rows={1}
        aria-label="Message"
        placeholder={blocked ?? (busy ? "Write the next message" : "Write a message")}
        value={text}
        onChange={(event) => change(event.target.value)}
        onKeyDown={onKeyDown}
      />
      <div className="composer-row">
        <label className="picker">
          <span className="hidden">Assistant</span>
          <select
            value={assistantId}
            onChange={(event) => props.onAssistant(event.target.value)}
            disabled={busy}
          >
            {assistants.map(({ assistant_id, name }) => (
              <option key={assistant_id} value={assistant_id}>
                {name}
              </option>
            ))}
          </select>
        </label>
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
        {(!busy || text.trim() !== "") && (
          <button type="submit" className="round primary" disabled={!ready} aria-label="Send">
            <Icon name="send" />
          </button>
        )}
      </div>
    </form>
  );
}
