import type { ReactNode } from "react";
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

/** The console's sign-in page leads back here. */
export function SignInFirst() {
  const here = encodeURIComponent(location.pathname + location.search);
  return (
    <main className="key-form">
      <div>
        <Mark />
        <h1>Sign in first</h1>
        <p>This server is open to more than this machine, so it wants to know who is asking.</p>
        <a className="button primary" href={`/sign-in?return_to=${here}`}>
          Sign in
        </a>
      </div>
    </main>
  );
}
