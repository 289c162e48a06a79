import type { Sql } from "../../../../platform/db/database.ts";
import { raw } from "../../../../platform/db/raw.ts";
import type { FoundRunId, WantedIds } from "../../run-query.ts";

/** By the table of ids, which knows the time and so the partition of each run. */
export async function findTraceRuns(sql: Sql, wanted: WantedIds): Promise<FoundRunId[]> {
  const { workspaceId, ids, limit } = wanted;
  if (ids === null) return [];
  const { rows } = await raw<FoundRunId>`
    select r.id, r.project_id, r.name, r.run_type from (
      select id, start_time from trace_run_ids
      where id between ${ids.from}::uuid and ${ids.to}::uuid and workspace_id = ${workspaceId} limit ${limit}
    ) known
    join trace_runs r on r.id = known.id and r.start_time = known.start_time and r.workspace_id = ${workspaceId}
    limit ${limit}`.execute(sql);
  return rows;
}
