import type { Sql } from "../../platform/db/database.ts";
import { type RawBuilder, raw } from "../../platform/db/raw.ts";
import { type Feedback, feedbackColumnsSql } from "../runs/feedback.ts";

const columns = raw.raw(feedbackColumnsSql);

export async function findFeedback(sql: Sql, workspaceId: string, id: string): Promise<Feedback | undefined> {
  const { rows } = await raw<Feedback>`
    select ${columns} from trace_feedback where id = ${id} and workspace_id = ${workspaceId}
  `.execute(sql);
  return rows[0];
}

export type FeedbackFilter = {
  runs?: string[];
  projects?: string[];
  keys?: string[];
  sources?: string[];
  limit: number;
  offset: number;
};

export async function listFeedback(
  sql: Sql,
  workspaceId: string,
  filter: FeedbackFilter,
): Promise<Feedback[]> {
  const where: RawBuilder<unknown>[] = [raw`workspace_id = ${workspaceId}`];
  if (filter.runs) where.push(raw`run_id = any(${filter.runs}::uuid[])`);
  if (filter.projects) where.push(raw`project_id = any(${filter.projects}::uuid[])`);
  if (filter.keys) where.push(raw`key = any(${filter.keys}::text[])`);
  if (filter.sources) where.push(raw`feedback_source ->> 'type' = any(${filter.sources}::text[])`);
  const { rows } = await raw<Feedback>`
    select ${columns} from trace_feedback where ${raw.join(where, raw` and `)}
    order by trace_feedback.created_at desc, id limit ${filter.limit} offset ${filter.offset}
  `.execute(sql);
  return rows;
}
