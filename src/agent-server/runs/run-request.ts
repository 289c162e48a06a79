import type { Caller } from "../../platform/http/caller.ts";
import { principalConfigurable, withoutAuthKeys } from "../auth/principal.ts";
import {
  type CheckpointRef,
  type JsonObject,
  type MultitaskStrategy,
  mergeRunConfig,
  type RunCommand,
  type RunConfig,
  type RunKwargs,
  type StreamMode,
} from "./run.ts";
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
  const { principal } = request.caller ?? {};
  config.configurable = {
    ...withoutAuthKeys(config.configurable ?? {}),
    ...ids,
    ...(principal ? principalConfigurable(principal) : {}),
  };
  return {
    input: request.input,
    command: request.command,
    config,
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
  };
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
