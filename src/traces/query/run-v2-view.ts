import type { RunField, RunRow } from "../storage/run-query.ts";
import { appPath, latencySeconds } from "./run-view.ts";

type V2Field = { reads: RunField[]; write(row: RunRow): string };

const plain = (name: RunField): V2Field => ({
  reads: [name],
  write: (row) => JSON.stringify(row[name as keyof RunRow] ?? null),
});
const upper = (name: "status" | "run_type"): V2Field => ({
  reads: [name],
  write: (row) => JSON.stringify(row[name]!.toUpperCase()),
});
/** A number here, text in the older API; the nearest one to the decimal that is stored. */
const cost = (name: "total_cost" | "prompt_cost" | "completion_cost"): V2Field => ({
  reads: [name],
  write: (row) => JSON.stringify(row[name] == null ? null : Number(row[name])),
});
/** Stored as JSON text, and put in as it is. */
const payload = (name: RunField): V2Field => ({
  reads: [name],
  write: (row) => (row[name as "inputs"] as string | null) ?? "null",
});
/** The newer API's names for what a run holds; it answers what was selected and nothing else. */
const fields: Record<string, V2Field> = {
  id: plain("id"),
  name: plain("name"),
  run_type: upper("run_type"),
  status: upper("status"),
  start_time: plain("start_time"),
  end_time: plain("end_time"),
  latency_seconds: {
    reads: ["start_time", "end_time"],
    write: (row) => JSON.stringify(latencySeconds(row)),
  },
  first_token_time: plain("first_token_time"),
  error: plain("error"),
  error_preview: plain("error_preview"),
  extra: payload("extra"),
  metadata: payload("metadata"),
  events: payload("events"),
  inputs: payload("inputs"),
  inputs_preview: plain("inputs_preview"),
  outputs: payload("outputs"),
  outputs_preview: plain("outputs_preview"),
  outputs_tail: plain("outputs_tail"),
  manifest: payload("serialized"),
  parent_run_ids: plain("parent_run_ids"),
  project_id: {
    reads: ["session_id"],
    write: (row) => JSON.stringify(row.session_id),
  },
  trace_id: plain("trace_id"),
  thread_id: plain("thread_id"),
  dotted_order: plain("dotted_order"),
  is_root: plain("is_root"),
  reference_example_id: plain("reference_example_id"),
  total_tokens: plain("total_tokens"),
  prompt_tokens: plain("prompt_tokens"),
  completion_tokens: plain("completion_tokens"),
  total_cost: cost("total_cost"),
  prompt_cost: cost("prompt_cost"),
  completion_cost: cost("completion_cost"),
  tags: plain("tags"),
  app_path: {
    reads: ["tenant_id", "session_id"],
    write: (row) => JSON.stringify(appPath(row)),
  },
  is_in_dataset: {
    reads: ["reference_example_id"],
    write: (row) => JSON.stringify(row.reference_example_id != null),
  },
  feedback_stats: payload("feedback_stats"),
};

/** Names there are fields for; `ID` alone when none is asked. Those this server does not keep are left out. */
export function readSelects(selects: readonly string[] | null | undefined): string[] {
  const names = ["id", ...(selects ?? []).map((name) => name.toLowerCase())];
  return [...new Set(names)].filter((name) => Object.hasOwn(fields, name));
}

export function v2ColumnsOf(names: readonly string[]): Set<RunField> {
  return new Set(names.flatMap((name) => fields[name]!.reads));
}

export function writeV2Run(row: RunRow, names: readonly string[]): string {
  return `{${names.map((name) => `"${name}":${fields[name]!.write(row)}`).join(",")}}`;
}

export function writeV2Runs(rows: readonly RunRow[], names: readonly string[]): string {
  return `[${rows.map((row) => writeV2Run(row, names)).join(",")}]`;
}
