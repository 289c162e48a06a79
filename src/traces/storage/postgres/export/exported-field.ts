import { timeTextSql } from "../../../runs/run.ts";

/** How the database sends a field in binary form. */
export type FieldKind =
  | "text"
  | "uuid"
  | "int64"
  | "double"
  | "timestamp"
  | "bool"
  | "text_list"
  | "uuid_list";
export type ExportedField = { name: string; kind: FieldKind; sql: string };

const columns: Record<string, FieldKind> = {
  id: "uuid",
  trace_id: "uuid",
  parent_run_id: "uuid",
  parent_run_ids: "uuid_list",
  reference_example_id: "uuid",
  name: "text",
  run_type: "text",
  start_time: "timestamp",
  end_time: "timestamp",
  status: "text",
  is_root: "bool",
  dotted_order: "text",
  trace_tier: "text",
  inputs: "text",
  outputs: "text",
  error: "text",
  extra: "text",
  events: "text",
  tags: "text_list",
  total_tokens: "int64",
  prompt_tokens: "int64",
  completion_tokens: "int64",
  total_cost: "double",
  prompt_cost: "double",
  completion_cost: "double",
  first_token_time: "timestamp",
};

const ofRun = "f.run_id = r.id and f.workspace_id = r.workspace_id";
// Most runs have no feedback: asking that first costs a fraction of computing statistics of nothing.
const whenAny = (sql: string) =>
  `case when exists (select from trace_feedback f where ${ofRun}) then (${sql}) end`;

const feedbackStats = whenAny(`select f.feedback_stats from trace_feedback_stats f where ${ofRun}`);

const feedbacks = `(select coalesce(jsonb_agg(jsonb_build_object(
    'id', f.id, 'key', f.key, 'score', f.score,
    'value', coalesce(jsonb_or_null(f.value), to_jsonb(f.value)), 'comment', f.comment,
    'correction', coalesce(jsonb_or_null(f.correction), to_jsonb(f.correction)),
    'feedback_source', f.feedback_source,
    'created_at', ${timeTextSql("f.created_at")}, 'modified_at', ${timeTextSql("f.modified_at")}
  ) order by f.created_at, f.id), '[]')::text from trace_feedback f where ${ofRun})`;

export function exportedField(name: string): ExportedField {
  if (name === "feedback_stats") return { name, kind: "text", sql: feedbackStats };
  if (name === "feedbacks") return { name, kind: "text", sql: feedbacks };
  const kind = columns[name];
  if (kind === undefined) throw new Error(`Runs have no field ${name} to export.`);
  return { name, kind, sql: kind === "double" ? `r.${name}::float8` : `r.${name}` };
}
