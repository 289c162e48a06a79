import { type ReactNode, useState } from "react";
import { connection } from "./connection.ts";
import { Icon, Mark } from "./icons.tsx";

export function LostBanner() {
  return (
    <div className="banner" role="status">
      <span className="pulse-dot" aria-hidden="true" />
      The server does not answer. Trying again…
    </div>
  );
}

export function Notice({
  tone,
  title,
  children,
  actions,
}: {
  tone: "error" | "info";
  title: string;
  children: ReactNode;
  actions?: ReactNode;
}) {
  return (
    <section className={`notice ${tone}`} role={tone === "error" ? "alert" : "status"}>
      <h3>{title}</h3>
      <p>{children}</p>
      {actions && <div className="row">{actions}</div>}
    </section>
  );
}

/** The server was restarted, or the thread was deleted elsewhere. What is on the screen is all that is left of it. */
export function GoneNotice({ onNew, onAskAgain }: { onNew(): void; onAskAgain: (() => void) | undefined }) {
  return (
    <Notice
      tone="info"
      title="This conversation is gone"
      actions={
        <>
          {onAskAgain && (
            <button type="button" className="primary" onClick={onAskAgain}>
              Ask again in a new one
            </button>
          )}
          <button type="button" onClick={onNew}>
            <Icon name="plus" />
            New conversation
          </button>
        </>
      }
    >
      Conversations live in the server’s memory. It was restarted, or somebody deleted this one.
    </Notice>
  );
}

export function KeyForm() {
  const [key, setKey] = useState("");
  const [refused] = useState(() => connection.hasKey());
  return (
    <main className="key-form">
      <form
        onSubmit={(event) => {
          event.preventDefault();
          connection.unlock(key.trim());
        }}
      >
        <Mark />
        <h1>An API key is needed</h1>
        <p>This server is open to more than this machine, so it wants to know who is asking.</p>
        {refused && (
          <p className="refused" role="alert">
            The server did not accept that key. Try another one.
          </p>
        )}
        <label className="field">
          <span>API key</span>
          <input
            type="password"
            autoComplete="off"
            value={key}
            onChange={(event) => setKey(event.target.value)}
            required
          />
        </label>
        <button type="submit" className="primary" disabled={key.trim() === ""}>
          Continue
        </button>
        <p className="muted">It stays in this tab and is forgotten when you close it.</p>
      </form>
    </main>
  );
}
