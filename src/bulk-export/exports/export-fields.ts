import type { ColumnSpec } from "../parquet/column.ts";

/** The columns of every file, in this order, with these types, for any rows. */
export const defaultExportFields = [
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
] as const;

/** Also `feedbacks`, the single entries, which are written only when asked for. */
export const exportFields = [...defaultExportFields, "feedbacks"] as const;
export type ExportField = (typeof exportFields)[number];

/** The same in every row of a file, so the database is not asked for them. */
export const constantFields = ["tenant_id", "session_id"] as const;
export type ConstantField = (typeof constantFields)[number];

const dictionaryFields = new Set<string>(["name", "run_type", "status", "trace_tier"]);
/** As clients sent them. */
const jsonFields = new Set<string>(["inputs", "outputs", "extra", "events"]);

/** In the fixed order, not in the order of the request. */
export function orderedFields(asked: readonly string[] | null): ExportField[] {
  if (asked === null) return [...defaultExportFields];
  return exportFields.filter((field) => asked.includes(field));
}

export function columnsOf(
  fields: readonly ExportField[],
  kinds: ReadonlyMap<string, ColumnSpec["kind"]>,
  constants: Record<ConstantField, string>,
): ColumnSpec[] {
  return fields.map((name) => {
    if (name === "tenant_id" || name === "session_id")
      return { name, kind: "text", constant: constants[name] };
    const kind = kinds.get(name);
    if (kind === undefined) throw new Error(`The field ${name} has no known kind.`);
    return { name, kind, dictionary: dictionaryFields.has(name), json: jsonFields.has(name) };
  });
}
