import { runFields } from "../runs/run.ts";
import { previewFields, type RunField, type RunRow } from "../storage/run-query.ts";

/** The fields of an answer that are not columns, and the columns they need. */
const derived: Record<string, RunField[]> = {
  app_path: ["tenant_id", "session_id", "id"],
  child_run_ids: [],
  in_dataset: ["reference_example_id"],
  latency: ["start_time", "end_time"],
};

const columns: readonly RunField[] = [...runFields, ...previewFields];

/** Clients cannot read a run without these, even if they did not select them. */
const required = [
  "id",
  "name",
  "run_type",
  "status",
  "trace_id",
  "dotted_order",
  "session_id",
  "start_time",
  "app_path",
];
const payloads = new Set<string>(["inputs", "outputs", "extra", "events", "serialized", "feedback_stats"]);
const costs = new Set<string>(["total_cost", "prompt_cost", "completion_cost"]);
const onlyWhenNamed = new Set<string>(["child_run_ids", ...previewFields]);
const known = new Set<string>([...columns, ...Object.keys(derived)]);

/** What to answer: the fields named that there are, and always the required ones; all of them when none is named. */
export function readSelect(select: readonly string[] | null | undefined): string[] {
  if (!select || select.length === 0) return [...known].filter((name) => !onlyWhenNamed.has(name));
  return [...new Set([...required, ...select])].filter((name) => known.has(name));
}

/** The columns those fields are made of: nothing else is read, above all no payload. */
export function columnsOf(names: readonly string[]): Set<RunField> {
  return new Set(names.flatMap((name) => derived[name] ?? [name as RunField]));
}

/** Without payloads, for lists and trees that are drawn first and looked into later. */
export const lightFields = columns.filter((name) => !payloads.has(name));

/**
 * A run as JSON text. Payloads are put in as they were stored, without being read and written again. `urls` is where
 * its attachments are, when that was asked.
 */
export function writeRun(row: RunRow, names: readonly string[], urls?: object | null): string {
  const fields = names.map((name) => `${JSON.stringify(name)}:${textOf(row, name)}`);
  if (urls !== undefined) fields.push(`"s3_urls":${JSON.stringify(urls)}`);
  return `{${fields.join(",")}}`;
}

export function writeRuns(
  rows: readonly RunRow[],
  names: readonly string[],
  urls: ReadonlyMap<string, object> = new Map(),
): string {
  return `[${rows.map((row) => writeRun(row, names, urls.get(row.id!))).join(",")}]`;
}

function textOf(row: RunRow, name: string): string {
  if (name === "app_path") return JSON.stringify(appPath(row));
  if (name === "child_run_ids") return "null";
  if (name === "in_dataset") return JSON.stringify(row.reference_example_id != null);
  if (name === "latency") return JSON.stringify(latencySeconds(row));
  const value = row[name as keyof RunRow] ?? null;
  if (value === null) return name === "inputs" ? "{}" : "null";
  if (payloads.has(name)) return name === "inputs" && value === "null" ? "{}" : String(value);
  if (costs.has(name)) return JSON.stringify(String(value));
  return JSON.stringify(value);
}

export function appPath(row: RunRow): string {
  return `/o/${row.tenant_id}/projects/p/${row.session_id}/r/${row.id}`;
}

/** In seconds; to the microsecond, which dates do not keep. */
export function latencySeconds(row: RunRow): number | null {
  if (!row.end_time) return null;
  return (microsOf(row.end_time) - microsOf(row.start_time)) / 1e6;
}

function microsOf(time: string): number {
  return Date.parse(`${time.slice(0, 19)}Z`) * 1000 + Number(time.slice(20, 26));
}
