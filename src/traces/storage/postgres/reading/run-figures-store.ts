import type { Sql } from "../../../../platform/db/database.ts";
import { type RawBuilder, raw } from "../../../../platform/db/raw.ts";
import { projectsOf } from "../../live-projects-store.ts";
import type { RunFigures, Window } from "../../run-stats.ts";

/** Of one project, or of all but experiments: their runs are made to fail. */
function rootRuns(workspaceId: string, projectId: string | null, { from, to }: Window): RawBuilder<unknown> {
  const projects =
    projectId === null
      ? raw`r.project_id in (${projectsOf({ workspaceId, isExperiment: false })})`
      : raw`r.project_id = ${projectId}`;
  return raw`trace_runs r where ${projects} and r.workspace_id = ${workspaceId} and r.is_root
    and r.start_time >= ${from} and r.start_time <= ${to}`;
}

/** Of root runs that began in the window; answered from an index. */
export async function readRunFigures(
  sql: Sql,
  workspaceId: string,
  projectId: string | null,
  window: Window,
): Promise<RunFigures> {
  const { rows } = await raw<{ runs: number; errors: number; p95: number | null }>`
    select count(*)::int as runs, count(*) filter (where r.status = 'error')::int as errors,
      percentile_cont(0.95) within group (order by date_part('epoch', r.end_time - r.start_time)) as p95
    from ${rootRuns(workspaceId, projectId, window)}`.execute(sql);
  const { runs, errors, p95 } = rows[0]!;
  return { runs, errors, p95Seconds: p95 };
}

export async function hasRuns(
  sql: Sql,
  workspaceId: string,
  projectId: string | null,
  window: Window,
): Promise<boolean> {
  const { rows } = await raw`
    select 1 as one from ${rootRuns(workspaceId, projectId, window)} limit 1`.execute(sql);
  return rows.length > 0;
}
