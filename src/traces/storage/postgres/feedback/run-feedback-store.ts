import type { Sql } from "../../../../platform/db/database.ts";
import { raw } from "../../../../platform/db/raw.ts";
import { type EarlyPlace, earlyAtOnce, isEarly } from "../../early-feedback.ts";

/** Where the run of the feedback `f` stands, if it is stored. */
export const runOfFeedback = raw`
  select trace_id, project_id from trace_runs where id = f.run_id and workspace_id = f.workspace_id limit 1`;

/** Sets the project and trace of feedback that came before its run; returns the last place it looked at, if there may be more. */
export async function settleEarlyFeedback(
  sql: Sql,
  before: EarlyPlace | undefined,
): Promise<EarlyPlace | undefined> {
  const { rows } = await raw<EarlyPlace>`
    with early as materialized (
      select id, run_id, workspace_id, created_at from trace_feedback where ${isEarly(before)}
      order by created_at desc, id desc limit ${earlyAtOnce}
    ), settled as (
      update trace_feedback f set project_id = r.project_id, trace_id = coalesce(f.trace_id, r.trace_id)
      from (
        select e.id, s.project_id, s.trace_id from early e
        cross join lateral (
          select project_id, trace_id from trace_runs where id = e.run_id and workspace_id = e.workspace_id limit 1
        ) s
      ) r
      where f.id = r.id
    )
    select created_at::text as at, id from early order by created_at desc, id desc offset ${earlyAtOnce - 1}
  `.execute(sql);
  return rows[0];
}
