import { useEffect, useId, useRef, useState } from "react";
import { connection } from "../connection.ts";
import { Icon } from "../icons.tsx";

/** What a graph asks with when it needs an account at another service. */
export type ConsentRequest = {
  auth_url: string;
  auth_id?: string;
  provider?: string;
  provider_name?: string;
  scopes?: string[];
  message?: string;
};

const askEveryMs = 1_500;

type Stage = "waiting" | "opened" | "connected" | "refused" | "expired";

/** Null for anything else; also where the address is none a person should be sent to. */
export function readConsentRequest(ask: unknown): ConsentRequest | null {
  const { auth_url } = (ask ?? {}) as Partial<ConsentRequest>;
  if (typeof auth_url !== "string" || !URL.canParse(auth_url)) return null;
  return /^https?:$/.test(new URL(auth_url).protocol) ? (ask as ConsentRequest) : null;
}

/** The run continues automatically once the consent is given, in any tab. */
export function ConnectAccount({
  request,
  onAnswer,
}: {
  request: ConsentRequest;
  onAnswer(answer: unknown): void;
}) {
  const [stage, setStage] = useState<Stage>("waiting");
  const opened = useRef(false);
  const answer = useRef(onAnswer);
  answer.current = onAnswer;
  const title = useId();
  const name = request.provider_name ?? request.provider ?? new URL(request.auth_url).hostname;
  const authId = request.auth_id ?? idInAddress(request.auth_url);

  useEffect(() => {
    if (authId === undefined) return;
    const leaving = new AbortController();
    const watch = async () => {
      const end = await untilEnded(authId, leaving.signal);
      if (leaving.signal.aborted || end === undefined) return;
      if (end === "completed") {
        setStage("connected");
        // Other tabs see the same; the one where the person acted goes first, and then this card is gone there.
        await pause(opened.current ? 0 : 4_000, leaving.signal);
        if (!leaving.signal.aborted) answer.current({ type: "connected" });
      } else setStage(end === "failed" ? "refused" : "expired");
    };
    void watch();
    return () => leaving.abort();
  }, [authId]);

  const open = () => {
    opened.current = true;
    setStage("opened");
  };
  const ended = stage === "refused" || stage === "expired";

  return (
    <section className="approval connect" aria-labelledby={title}>
      <header>
        <Icon name="link" />
        <h3 id={title}>Connect your {name} account</h3>
      </header>
      <p>{request.message ?? `The agent needs your ${name} account to go on.`}</p>
      {request.scopes && request.scopes.length > 0 && (
        <dl>
          <div>
            <dt>It asks for</dt>
            <dd>
              {request.scopes.map((scope) => (
                <code key={scope}>{scope}</code>
              ))}
            </dd>
          </div>
        </dl>
      )}
      <p className="connect-status" role="status">
        {words(stage, name)}
      </p>
      <div className="row">
        {stage === "connected" ? null : ended ? (
          <button type="button" className="primary" onClick={() => onAnswer({ type: "retry" })}>
            Ask me again
          </button>
        ) : (
          <a
            className={stage === "opened" ? "button" : "button primary"}
            href={request.auth_url}
            target="_blank"
            rel="noopener noreferrer"
            onClick={open}
          >
            <Icon name="link" />
            {stage === "opened" ? "Open it again" : `Connect ${name}`}
          </a>
        )}
        {stage === "opened" && (
          <button type="button" onClick={() => onAnswer({ type: "connected" })}>
            <Icon name="check" />I have connected it
          </button>
        )}
        {stage !== "connected" && (
          <button type="button" className="quiet" onClick={() => onAnswer({ type: "declined" })}>
            Not now
          </button>
        )}
      </div>
    </section>
  );
}

function words(stage: Stage, name: string): string {
  if (stage === "waiting") return "";
  if (stage === "opened")
    return `Give your consent at ${name} in the other tab. The answer then continues by itself.`;
  if (stage === "connected") return "Connected. Going on…";
  if (stage === "refused") return `${name} was not connected: the consent was refused.`;
  return "The link is no longer valid: it was not used in time.";
}

/** Servers put the id of a consent into its `state`, or at the end of the page that leads to it. */
function idInAddress(url: string): string | undefined {
  const { pathname, searchParams } = new URL(url);
  const id = searchParams.get("state")?.split(".")[0] ?? pathname.split("/v2/auth/consent/")[1];
  return id && /^[0-9a-f-]{36}$/i.test(id) ? id : undefined;
}

/**
 * Undefined when it cannot be known here: the person confirms it then. Asked again and again rather than waited for: a
 * browser has six connections for all tabs of a server, and the streams of the conversation need theirs.
 */
async function untilEnded(authId: string, signal: AbortSignal): Promise<string | undefined> {
  const url = `${location.origin}/v2/auth/authorizations/${authId}`;
  while (!signal.aborted) {
    try {
      const response = await connection.fetch(url, { signal });
      if (response.status === 404 || response.status === 403) return undefined;
      const { status } = (response.ok ? await response.json() : {}) as { status?: string };
      if (status !== undefined && status !== "pending") return status;
    } catch {
      // No connection; the page's banner shows it.
    }
    await pause(askEveryMs, signal);
  }
  return undefined;
}

function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, ms);
    signal.addEventListener("abort", () => {
      clearTimeout(timer);
      resolve();
    });
  });
}
