import { setTimeout as delay } from "node:timers/promises";

type Environment = Readonly<Record<string, string | undefined>>;

/** Runs are traced by the graph library itself, as its environment says. */
export type LibraryTracing = {
  /** The one project its key may write to; undefined when it may write to any. */
  onlyProject?: string | undefined;
};

/** Undefined where the environment does not turn tracing on. The key of a deployment writes to one project. */
export function libraryTracing(
  environment: Environment,
  { isDeployed }: { isDeployed: boolean },
): LibraryTracing | undefined {
  const setting = (name: string) => environment[`LANGSMITH_${name}`] || environment[`LANGCHAIN_${name}`];
  if ((setting("TRACING_V2") ?? setting("TRACING")) !== "true") return undefined;
  return isDeployed ? { onlyProject: setting("PROJECT") ?? "default" } : {};
}

const limitMs = 5_000;

/** What of the library's tracer is looked at; older ones do not have it. */
type Sending = { client?: { awaitPendingTraceBatches?: () => Promise<void> } };

/**
 * Resolves when what the tracer was told so far is with the tracing service, or after a few seconds: whoever waits
 * wants to go on in any case.
 */
export async function tracesSent(tracer: object): Promise<void> {
  const sent = (tracer as Sending).client?.awaitPendingTraceBatches?.();
  if (sent === undefined) return;
  const waited = new AbortController();
  const late = delay(limitMs, undefined, { signal: waited.signal, ref: false }).catch(() => undefined);
  try {
    await Promise.race([sent, late]);
  } finally {
    waited.abort();
  }
}
