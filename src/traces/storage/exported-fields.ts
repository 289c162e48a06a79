import { timeTextSql } from "../runs/run.ts";

/** How a field is sent to the writer of an export, in the form of a binary COPY. */
export type FieldKind =
  | "text"
  | "uuid"
  | "int64"
  | "double"
  | "timestamp"
  | "bool"
  | "text_list"
  | "uuid_list";

export type ExportedField = { name: string; kind: FieldKind };

/** Columns of runs, by name. */
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

/** What was said of a run: in PostgreSQL, wherever the runs are. */
export const feedbackFields = ["feedback_stats", "feedbacks"] as const;
export type FeedbackField = (typeof feedbackFields)[number];

export function isFeedbackField(name: string): name is FeedbackField {
  return (feedbackFields as readonly string[]).includes(name);
}

/** Those asked for, behind the two that say how far an export has come. */
export function exportedFields(asked: readonly string[]): ExportedField[] {
  const names = ["start_time", "id", ...asked.filter((name) => name !== "start_time" && name !== "id")];
  return names.map((name) => {
    const kind = isFeedbackField(name) ? "text" : columns[name];
    if (kind === undefined) throw new Error(`Runs have no field ${name} to export.`);
    return { name, kind };
  });
}

/** The entries on one run as JSON text, in the order they came; `f` are rows of `trace_feedback`. */
export const feedbacksSql = `coalesce(jsonb_agg(jsonb_build_object(
    'id', f.id, 'key', f.key, 'score', f.score,
    'value', coalesce(jsonb_or_null(f.value), to_jsonb(f.value)), 'comment', f.comment,
    'correction', coalesce(jsonb_or_null(f.correction), to_jsonb(f.correction)),
    'feedback_source', f.feedback_source,
    'created_at', ${timeTextSql("f.created_at")}, 'modified_at', ${timeTextSql("f.modified_at")}
  ) order by f.created_at, f.id), '[]')::text`;
