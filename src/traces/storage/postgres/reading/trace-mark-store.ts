import type { Database, Statement } from "../../../../platform/db/database.ts";

/** More projects than people watch; without a bound, a workspace with many experiments would cost more each second. */
const projectsAtMost = 100;
const runsPerProject = 10;

/** Prepared: with many partitions, planning it costs far more than running it. */
export const statement: Statement = {
  name: "traces_mark_1",
  text: `
    select concat_ws(' ', count(distinct p.id), max(p.created_at), max(r.start_time), max(r.end_time),
      count(r.end_time), sum(r.total_tokens)) as mark
    from (
      select id, created_at from trace_projects
      where workspace_id = $1 and deleted_at is null
      order by start_time desc limit ${projectsAtMost}
    ) p
    left join lateral (
      select start_time, end_time, total_tokens from trace_runs
      where project_id = p.id and is_root and start_time > now() - interval '1 day'
      order by start_time desc, id desc limit ${runsPerProject}
    ) r on true`,
};

/**
 * Differs whenever one of the newest runs of the workspace's projects came or ended. Only recent runs are looked at:
 * a trace that is sent days late is shown, but no hint is sent for it.
 */
export async function readTracesMark(
  database: Pick<Database, "query">,
  workspaceId: string,
): Promise<string> {
  const [row] = await database.query<{ mark: string }>(statement, [workspaceId]);
  return row!.mark;
}
