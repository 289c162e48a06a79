import type { RunField, RunRow } from "../storage/run-query.ts";
import { readSelects, v2ColumnsOf, writeV2Run } from "./run-v2-view.ts";

/** What the traces of a thread call by another name than runs do. */
const renamed: Record<string, string> = { latency: "latency_seconds" };

/** Of a thread's trace: what was selected, and always its id. */
export function readThreadSelects(selects: readonly string[] | undefined): string[] {
  const asked = (selects ?? []).map((name) => name.toLowerCase());
  const known = asked.filter((name) => readSelects([renamed[name] ?? name]).length > 1);
  return [...new Set(["trace_id", ...known])];
}

const sourceOf = (name: string) => renamed[name] ?? name;

export function threadColumnsOf(names: readonly string[]): Set<RunField> {
  return v2ColumnsOf(names.map(sourceOf));
}

export function writeThreadTrace(row: RunRow, names: readonly string[]): string {
  const text = writeV2Run(row, names.map(sourceOf));
  return Object.entries(renamed).reduce(
    (written, [ours, theirs]) =>
      names.includes(ours) ? written.replace(`"${theirs}":`, `"${ours}":`) : written,
    text,
  );
}
