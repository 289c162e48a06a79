import type { Caller } from "../../platform/http/access/caller.ts";
import { platformUserConfigurable } from "../auth/platform-user.ts";
import { principalConfigurable, withoutAuthKeys } from "../auth/principal.ts";
import type { CheckpointRef, RunCommand, RunConfig, StreamMode } from "../graphs/graph-call.ts";
import { type JsonObject, type MultitaskStrategy, mergeRunConfig, type RunKwargs } from "./run.ts";
import type { Target } from "./run-store.ts";

/** A request to run, checked and with its defaults filled in. */
export type RunRequest = {
  assistant_id: string;
  input?: unknown;
  command?: RunCommand | null;
  config?: RunConfig;
  context?: JsonObject;
  metadata?: JsonObject;
  checkpoint?: CheckpointRef | null;
  webhook?: string | null;
  interrupt_before?: string[] | "*" | null;
  interrupt_after?: string[] | "*" | null;
  stream_mode: StreamMode[];
  stream_subgraphs: boolean;
  stream_resumable: boolean;
  multitask_strategy: MultitaskStrategy;
  if_not_exists: "create" | "reject";
  after_seconds?: number;
  durability: "sync" | "async" | "exit";
  feedback_keys?: string[] | null;
  /** Where the run is traced, instead of the project of its graph. */
  tracing_project?: string | null;
  /** The example of a dataset that its trace refers to. */
  tracing_example?: string | null;
  /** The thread goes when the run is over. */
  temporary: boolean;
  protocol?: boolean;
  /** For a thread that is made with the run. */
  threadMetadata?: JsonObject;
  /** Headers and identity the caller brings, merged into `configurable`. */
  callerConfigurable?: JsonObject;
  /** Who asks, for the project's own authorization; absent when the server itself does. */
  caller?: Caller;
};

export type RunIds = { run_id: string; thread_id: string; graph_id: string; assistant_id: string };

/** Assistant, then thread, then the request; ids and who the caller is always win. */
export function buildKwargs(target: Target, request: RunRequest, ids: RunIds): RunKwargs {
  const config = mergeRunConfig(
    target.assistant_config,
    target.thread_config,
    request.callerConfigurable ? { configurable: request.callerConfigurable } : undefined,
    request.config,
  );
  const { caller } = request;
  config.configurable = {
    ...withoutAuthKeys(config.configurable ?? {}),
    ...ids,
    ...(caller ? platformUserConfigurable(caller) : {}),
    ...(caller?.principal ? principalConfigurable(caller.principal) : {}),
  };
  return {
    // First, so that it can be read without the input, which may be megabytes: see `leadingConfig`.
    config,
    input: request.input,
    command: request.command,
    context: { ...target.assistant_context, ...request.context },
    stream_mode: request.stream_mode,
    interrupt_before: request.interrupt_before,
    interrupt_after: request.interrupt_after,
    webhook: request.webhook,
    feedback_keys: request.feedback_keys,
    temporary: request.temporary,
    subgraphs: request.stream_subgraphs,
    resumable: request.stream_resumable,
    durability: request.durability,
    checkpoint: request.checkpoint,
    ...(request.protocol ? { protocol: true } : {}),
    ...(request.tracing_project ? { tracing_project: request.tracing_project } : {}),
    ...(request.tracing_example ? { tracing_example: request.tracing_example } : {}),
  };
}

/** What a project's authorization may change about a run; how the caller receives it is up to the caller. */
const permittedFields = [
  "input",
  "command",
  "config",
  "context",
  "interrupt_before",
  "interrupt_after",
  "webhook",
  "feedback_keys",
] as const satisfies (keyof RunKwargs)[];

/**
 * The kwargs as the project's authorization sees them. Its changes count only through `withPermitted`, so they are
 * copied; the graph's input is not, which may be large and may be changed.
 */
export function shownKwargs(kwargs: RunKwargs): Record<string, unknown> {
  const { input, command, ...rest } = kwargs;
  const copy = JSON.parse(JSON.stringify(rest)) as Record<string, unknown>;
  return {
    ...copy,
    ...(input === undefined ? {} : { input }),
    ...(command === undefined ? {} : { command }),
  };
}

/** The kwargs with what authorization made of them; the ids and who the caller is stay as they are. */
export function withPermitted(kwargs: RunKwargs, permitted: Record<string, unknown>): RunKwargs {
  const changes = Object.fromEntries(permittedFields.map((name) => [name, permitted[name]]));
  const { configurable: given } = kwargs.config;
  const config = (changes.config ?? {}) as RunConfig;
  const own = Object.fromEntries(Object.entries(given ?? {}).filter(([key]) => isServerKey(key)));
  const configurable = { ...withoutAuthKeys(config.configurable ?? {}), ...own };
  return { ...kwargs, ...changes, config: { ...config, configurable } } as RunKwargs;
}

const idKeys: readonly string[] = [
  "run_id",
  "thread_id",
  "graph_id",
  "assistant_id",
] satisfies (keyof RunIds)[];

function isServerKey(key: string): boolean {
  return idKeys.includes(key) || !(key in withoutAuthKeys({ [key]: null }));
}

export function runMetadata(target: Target, request: RunRequest, ids: RunIds): JsonObject {
  return {
    ...target.assistant_metadata,
    ...target.thread_metadata,
    ...request.metadata,
    graph_id: ids.graph_id,
    assistant_id: ids.assistant_id,
  };
}
