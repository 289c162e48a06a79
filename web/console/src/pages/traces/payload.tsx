import { useMemo, useState } from "react";
import { JsonView } from "../../ui/json-view.tsx";
import { MessageView } from "../../ui/message-view.tsx";
import { messagesOf } from "./chat-messages.ts";

const shownAtOnce = 40;

/** What went in or came out: as messages where it holds some, as data otherwise; the JSON is one click away. */
export function Payload({
  title,
  value,
  empty = "Nothing.",
}: {
  title: string;
  value: unknown;
  empty?: string;
}) {
  const messages = useMemo(() => messagesOf(value), [value]);
  const [asJson, setAsJson] = useState(false);
  const [all, setAll] = useState(false);
  const isEmpty =
    value === null || value === undefined || (typeof value === "object" && Object.keys(value).length === 0);
  const hidden = all ? 0 : Math.max(0, messages.length - shownAtOnce);
  const rest = restOf(value);
  return (
    <section className="payload">
      <header>
        <h3>{title}</h3>
        {messages.length > 0 && (
          // biome-ignore lint/a11y/useSemanticElements: a fieldset would need a visible legend
          <div className="chips" role="group" aria-label={`${title} shown as`}>
            <button type="button" className="chip" aria-pressed={!asJson} onClick={() => setAsJson(false)}>
              Messages
            </button>
            <button type="button" className="chip" aria-pressed={asJson} onClick={() => setAsJson(true)}>
              JSON
            </button>
          </div>
        )}
      </header>
      {isEmpty ? (
        <p className="muted">{empty}</p>
      ) : messages.length === 0 || asJson ? (
        <JsonView label={title.toLowerCase()} value={value} open={3} />
      ) : (
        <div className="messages">
          {hidden > 0 && (
            <button type="button" className="link" onClick={() => setAll(true)}>
              Show {hidden} earlier messages
            </button>
          )}
          {messages.slice(hidden).map((message, index) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: messages of a stored payload keep their places
            <MessageView key={hidden + index} message={message} />
          ))}
          {rest && (
            <details className="fold">
              <summary>Other fields</summary>
              <JsonView label="other fields" value={rest} open={2} />
            </details>
          )}
        </div>
      )}
    </section>
  );
}

/** What stands beside the messages. */
function restOf(value: unknown): Record<string, unknown> | null {
  if (typeof value !== "object" || value === null || !("messages" in value)) return null;
  const { messages: _, ...rest } = value as Record<string, unknown>;
  return Object.keys(rest).length === 0 ? null : rest;
}
