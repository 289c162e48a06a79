import { type ExportedField, feedbacksSql } from "../../exported-fields.ts";

const ofRun = "f.run_id = r.id and f.workspace_id = r.workspace_id";
// Most runs have no feedback: asking that first costs a fraction of computing statistics of nothing.
const whenAny = (sql: string) =>
  `case when exists (select from trace_feedback f where ${ofRun}) then (${sql}) end`;

const feedbackStats = whenAny(`select f.feedback_stats from trace_feedback_stats f where ${ofRun}`);

const feedbacks = `(select ${feedbacksSql} from trace_feedback f where ${ofRun})`;

/** What a field of a run `r` is in SQL. */
export function fieldSql({ name, kind }: ExportedField): string {
  if (name === "feedback_stats") return feedbackStats;
  if (name === "feedbacks") return feedbacks;
  return kind === "double" ? `r.${name}::float8` : `r.${name}`;
}
