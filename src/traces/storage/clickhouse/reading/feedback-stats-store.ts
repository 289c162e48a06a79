import type { Sql } from "../../../../platform/db/database.ts";
import { raw } from "../../../../platform/db/raw.ts";

/** What was said of these runs, summed up as JSON text. Feedback itself is in PostgreSQL. */
export async function findFeedbackStats(
  sql: Sql,
  workspaceId: string,
  ids: readonly string[],
): Promise<Map<string, string>> {
  const { rows } = await raw<{ run_id: string; feedback_stats: string }>`
    select s.run_id, s.feedback_stats from trace_feedback_stats s
    where s.run_id = any(${ids}::uuid[]) and s.workspace_id = ${workspaceId}`.execute(sql);
  return new Map(rows.map((row) => [row.run_id, row.feedback_stats]));
}
