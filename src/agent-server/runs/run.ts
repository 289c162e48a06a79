import type { EndStatus } from "../delivery/thread-event.ts";
import type { GraphCall, RunConfig } from "../graphs/graph-call.ts";
import type { ThreadStatus } from "../threads/thread.ts";

export const runStatuses = ["pending", "running", "success", "error", "timeout", "interrupted"] as const;
export type RunStatus = (typeof runStatuses)[number];

export function isActive(status: RunStatus): boolean {
  return status === "pending" || status === "running";
}

export const multitaskStrategies = ["reject", "enqueue", "interrupt", "rollback"] as const;
export type MultitaskStrategy = (typeof multitaskStrategies)[number];

export const cancelActions = ["interrupt", "rollback"] as const;
export type CancelAction = (typeof cancelActions)[number];

export const maxAttempts = 3;

/** Where processes notify one another that runs wait, or are to stop. */
export const runsChannel = "treadle_runs";

export type JsonObject = Record<string, unknown>;

/** What a run was asked to do, as it is kept in the row and shown in `kwargs`. */
export type RunKwargs = GraphCall & {
  webhook?: string | null;
  feedback_keys?: string[] | null;
  tracing_project?: string;
  tracing_example?: string;
  temporary: boolean;
  resumable: boolean;
  /** Set when the streaming protocol started the run. */
  protocol?: boolean;
};

export type RunError = {
  error: string;
  message: string;
  /** The project's own file and line, where the server is its developer's. */
  at?: string;
};

export type Run = {
  run_id: string;
  thread_id: string;
  workspace_id: string;
  assistant_id: string;
  graph_id: string;
  status: RunStatus;
  multitask_strategy: MultitaskStrategy;
  metadata: JsonObject;
  kwargs: RunKwargs;
  temporary: boolean;
  attempt: number;
  cancel_action: CancelAction | null;
  error: RunError | null;
  created_at: Date;
  updated_at: Date;
  started_at: Date | null;
  ended_at: Date | null;
};

/** What it takes to follow a run. */
export type RunHead = Pick<Run, "run_id" | "thread_id" | "workspace_id" | "graph_id" | "status">;

/** A run this process holds the lease of, with the number its events go on from. */
export type ClaimedRun = Run & {
  last_seq: number;
  /** The last number of the streaming protocol on its thread. */
  protocol_seq: number;
  protocol: boolean;
  /** Attempts before this one that do not count towards the limit. */
  excused: number;
  /** It blocked the event loop of its process: it has one to itself now. */
  alone: boolean;
  /** Until when it is ours, by this process's monotonic clock. */
  leaseUntil: number;
  /** Its first event was committed with it, at the place after `last_seq`. */
  begun?: boolean;
  /** The thread was made with the run: it has no checkpoint to look for. */
  newThread?: boolean;
};

/** How a run ended, and what its thread looks like afterwards. */
export type RunOutcome = {
  status: EndStatus;
  threadStatus: ThreadStatus;
  error: RunError | null;
  /** JSON text of the thread's values; null leaves them as they were. */
  valuesJson: string | null;
  interruptsJson: string;
};

/** Later parts win, `configurable` is merged key by key: assistant, then thread, then the request. */
export function mergeRunConfig(...parts: (RunConfig | null | undefined)[]): RunConfig {
  const merged: RunConfig = {};
  for (const part of parts) {
    if (!part) continue;
    const { configurable, ...rest } = part;
    Object.assign(merged, rest);
    if (configurable) merged.configurable = { ...merged.configurable, ...configurable };
  }
  return merged;
}

/** Error class name and message, as run rows, `error` events and webhooks carry them. */
export function describeRunError(error: unknown): RunError {
  if (error instanceof Error) {
    const name = error.name && error.name !== "Error" ? error.name : error.constructor.name || "Error";
    return { error: name, message: error.message || name };
  }
  return { error: "Error", message: typeof error === "string" ? error : JSON.stringify(error) };
}
