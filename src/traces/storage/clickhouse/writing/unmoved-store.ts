import type { Sql, Statement } from "../../../../platform/db/database.ts";
import { raw } from "../../../../platform/db/raw.ts";
import { runStatement } from "../../../../platform/db/run-statement.ts";
import type { RunKey } from "../../../runs/stored-run.ts";

/** Of rows `w`, with `run_id` and `workspace_id`: those whose run is still in PostgreSQL, from where it is to be moved. */
export const isUnmoved = raw`exists (
  select from trace_run_ids k
  cross join lateral (
    select from trace_runs r where r.id = k.id and r.start_time = k.start_time and r.workspace_id = k.workspace_id limit 1
  ) r
  where k.id = w.run_id and k.workspace_id = w.workspace_id)`;

export const findUnmovedProjects: Statement = {
  name: "",
  text: `select w.id, w.workspace_id as "workspaceId", r.project_id as "projectId"
    from unnest($1::uuid[], $2::uuid[]) as w (id, workspace_id)
    cross join lateral (
      select start_time from trace_run_ids k where k.id = w.id and k.workspace_id = w.workspace_id limit 1
    ) k
    cross join lateral (
      select project_id from trace_runs r
      where r.id = w.id and r.start_time = k.start_time and r.workspace_id = w.workspace_id limit 1
    ) r`,
};

/** The projects of runs that are still to be moved. */
export function listUnmovedProjects(
  tx: Sql,
  keys: readonly RunKey[],
): Promise<(RunKey & { projectId: string })[]> {
  const columns = [keys.map(({ id }) => id), keys.map(({ workspaceId }) => workspaceId)];
  return runStatement<RunKey & { projectId: string }>(tx, findUnmovedProjects, columns);
}
