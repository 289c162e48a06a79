/** A run as stored and as sent: wire names, times as UTC text with microseconds, payloads as JSON text. */
export type Run = {
  id: string;
  tenant_id: string;
  session_id: string;
  trace_id: string;
  parent_run_id: string | null;
  /** From the root down, without the run itself. */
  parent_run_ids: string[];
  reference_example_id: string | null;
  name: string;
  run_type: string;
  start_time: string;
  end_time: string | null;
  status: RunStatus;
  is_root: boolean;
  dotted_order: string;
  trace_tier: string;
  inputs: string | null;
  outputs: string | null;
  error: string | null;
  extra: string | null;
  events: string | null;
  serialized: string | null;
  tags: string[];
  /** JSON text: per key the count, the average score and the breakdown of text values. */
  feedback_stats: string | null;
  total_tokens: number;
  prompt_tokens: number;
  completion_tokens: number;
  /** Decimal text. */
  total_cost: string | null;
  prompt_cost: string | null;
  completion_cost: string | null;
  first_token_time: string | null;
  thread_id: string | null;
  execution_order: number;
};

/** What an export and `select` may name, in the order of the export's columns. */
export const exportableRunFields = [
  "id",
  "tenant_id",
  "session_id",
  "trace_id",
  "parent_run_id",
  "parent_run_ids",
  "reference_example_id",
  "name",
  "run_type",
  "start_time",
  "end_time",
  "status",
  "is_root",
  "dotted_order",
  "trace_tier",
  "inputs",
  "outputs",
  "error",
  "extra",
  "events",
  "tags",
  "feedback_stats",
  "total_tokens",
  "prompt_tokens",
  "completion_tokens",
  "total_cost",
  "prompt_cost",
  "completion_cost",
  "first_token_time",
] as const satisfies readonly (keyof Run)[];
/** Every field there is. */
export const runFields = [
  ...exportableRunFields,
  "serialized",
  "thread_id",
  "execution_order",
] as const satisfies readonly (keyof Run)[];
export type ExportableRunField = (typeof exportableRunFields)[number];

export const runStatuses = ["pending", "success", "error"] as const;
export type RunStatus = (typeof runStatuses)[number];

/** `pending` until the run has an end; then its error decides. */
export function statusOf(run: { end_time: string | null; error: string | null }): RunStatus {
  if (run.end_time === null) return "pending";
  return run.error === null ? "success" : "error";
}

/** `YYYY-MM-DDTHH:MM:SS.ffffffZ`, as every answer writes times: the driver's dates would lose microseconds. */
export function timeTextSql(column: string): string {
  return `to_char(${column} at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')`;
}
