import type { RunQueryV2 } from "../../api/wire.ts";

export type SortField = NonNullable<RunQueryV2["sort"]>;
export type Sort = { field: SortField; order: "asc" | "desc" };

export type ColumnId =
  | "input"
  | "output"
  | "start"
  | "latency"
  | "tokens"
  | "cost"
  | "status"
  | "type"
  | "tags"
  | "feedback"
  | "thread";

type ColumnRule = { label: string; width: string; sort?: SortField };

/** What a list of runs can show beside the name. Tags and feedback are lists: they have no order. */
export const runColumns: Readonly<Record<ColumnId, ColumnRule>> = {
  input: { label: "Input", width: "minmax(6rem, 1fr)" },
  output: { label: "Output", width: "minmax(6rem, 1fr)" },
  start: { label: "Start", width: "6.4rem", sort: "start_time" },
  latency: { label: "Latency", width: "5.4rem", sort: "latency" },
  tokens: { label: "Tokens", width: "5rem", sort: "total_tokens" },
  cost: { label: "Cost", width: "5rem", sort: "total_cost" },
  status: { label: "Status", width: "5.4rem", sort: "status" },
  type: { label: "Type", width: "5rem" },
  tags: { label: "Tags", width: "minmax(5rem, 9rem)" },
  feedback: { label: "Feedback", width: "minmax(5rem, 9rem)" },
  thread: { label: "Thread", width: "minmax(5rem, 8rem)" },
};

export const columnIds = Object.keys(runColumns) as ColumnId[];
export const usualColumns: readonly ColumnId[] = ["input", "output", "start", "latency", "tokens", "cost"];
export const newestFirst: Sort = { field: "start_time", order: "desc" };

/** Those that are known, each once and in the order of the page; the usual ones when none is. */
export function readColumns(text: string | null | undefined): readonly ColumnId[] {
  const named = new Set((text ?? "").split(","));
  const known = columnIds.filter((id) => named.has(id));
  return known.length > 0 ? known : usualColumns;
}

export function isUsual(columns: readonly ColumnId[]): boolean {
  return columns.join() === usualColumns.join();
}

const sortable = new Set<string>(["name", ...columnIds.flatMap((id) => runColumns[id].sort ?? [])]);

/** `latency` is the smallest first, `-latency` the largest. */
export function readSort(text: string | null | undefined): Sort {
  const field = (text ?? "").replace(/^-/, "");
  if (!sortable.has(field)) return newestFirst;
  return { field: field as SortField, order: text!.startsWith("-") ? "desc" : "asc" };
}

/** Null: the usual order. */
export function writeSort({ field, order }: Sort): string | null {
  const text = order === "desc" ? `-${field}` : field;
  return text === "-start_time" ? null : text;
}

/** What a click on a column's head asks for: the large first, names from A; then the other way. */
export function nextSort(current: Sort, field: SortField): Sort {
  const first = field === "name" || field === "status" ? "asc" : "desc";
  if (current.field !== field) return { field, order: first };
  return { field, order: current.order === "asc" ? "desc" : "asc" };
}

/** The widths of a row: its name and the chosen columns. */
export function gridColumns(columns: readonly ColumnId[]): string {
  return ["minmax(8rem, 12rem)", ...columns.map((id) => runColumns[id].width)].join(" ");
}
