import { within } from "../../platform/within.ts";

export type Environment = Readonly<Record<string, string | undefined>>;

/** A setting of the graph library's tracing, under its present name or its earlier one. */
export function tracingSetting(environment: Environment, name: string): string | undefined {
  return environment[`LANGSMITH_${name}`] || environment[`LANGCHAIN_${name}`];
}

/** Runs are traced by the graph library itself, as its environment configures. */
export type LibraryTracing = {
  /** The one project its key may write to; undefined when it may write to any. */
  onlyProject?: string | undefined;
};

/** Undefined where the environment does not turn tracing on. The key of a deployment writes to one project. */
export function libraryTracing(
  environment: Environment,
  { isDeployed }: { isDeployed: boolean },
): LibraryTracing | undefined {
  const setting = (name: string) => tracingSetting(environment, name);
  if ((setting("TRACING_V2") ?? setting("TRACING")) !== "true") return undefined;
  return isDeployed ? { onlyProject: setting("PROJECT") ?? "default" } : {};
}

const limitMs = 5_000;

/** What of the library's tracer is looked at; older ones do not have it. */
type Sending = { client?: { awaitPendingTraceBatches?: () => Promise<void> } };

/**
 * Resolves when the tracing service has everything the tracer got so far, or after a few seconds: the caller has to
 * continue in any case.
 */
export async function tracesSent(tracer: object): Promise<void> {
  const sent = (tracer as Sending).client?.awaitPendingTraceBatches?.();
  if (sent !== undefined) await within(limitMs, sent);
}
