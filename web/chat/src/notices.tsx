import type { ReactNode } from "react";
import { Icon, Mark } from "./icons.tsx";

export function LostBanner() {
  return (
    <div className="banner" role="status">
      <span className="pulse-dot" aria-hidden="true" />
      The server does not respond. Trying again…
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

/** The thread was deleted elsewhere, or its server was restarted. Only what is on the screen is left of it. */
export function GoneNotice({
  inMemory,
  onNew,
  onAskAgain,
}: {
  inMemory: boolean;
  onNew(): void;
  onAskAgain: (() => void) | undefined;
}) {
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
      {inMemory
        ? "The example keeps conversations in memory. The server was restarted, or somebody deleted this one."
        : "It was deleted, or it was never on this server."}
    </Notice>
  );
}

/** The address names a server that cannot be reached from here. */
export function NoSuchServer({
  problem,
  signedOut = false,
  onHome,
  onTryAgain,
  onChange,
}: {
  problem?: string;
  signedOut?: boolean;
  onHome(): void;
  onTryAgain?: () => void;
  /** For a server of this browser: its address or key may be wrong. */
  onChange?: (() => void) | undefined;
}) {
  return (
    <div className="column">
      <Notice
        tone="error"
        title="This agent cannot be reached"
        actions={
          <>
            {signedOut && (
              <a
                className="button primary"
                href={`/sign-in?return_to=${encodeURIComponent(location.pathname)}`}
              >
                Sign in
              </a>
            )}
            {onChange && (
              <button type="button" className="primary" onClick={onChange}>
                Change address or key
              </button>
            )}
            {onTryAgain && (
              <button type="button" onClick={onTryAgain}>
                Try again
              </button>
            )}
            <button type="button" onClick={onHome}>
              Go to the built-in agents
            </button>
          </>
        }
      >
        {problem ??
          (signedOut
            ? "It may be a deployment. Sign in to see the deployments of your workspace."
            : "It is not a deployment of your workspace (it may have been deleted), and not a server saved in this browser.")}
      </Notice>
    </div>
  );
}

/** The console's sign-in page leads back here. */
export function SignInFirst() {
  const here = encodeURIComponent(location.pathname + location.search + location.hash);
  return (
    <main className="key-form">
      <div>
        <Mark />
        <h1>Sign in first</h1>
        <p>Other machines can reach this server, so it asks who you are.</p>
        <a className="button primary" href={`/sign-in?return_to=${here}`}>
          Sign in
        </a>
      </div>
    </main>
  );
}
