import type { Sql } from "../../../../platform/db/database.ts";
import { raw } from "../../../../platform/db/raw.ts";
import type { SeenRun } from "../../run-query.ts";
import type { RunPlace } from "../../run-storage.ts";

const recent = 500;

export async function listRecentRuns(sql: Sql, place: RunPlace): Promise<SeenRun[]> {
  const { rows } = await raw<SeenRun>`select r.name, r.run_type, r.tags, r.metadata from trace_runs r
    where r.project_id = ${place.projectId} and r.workspace_id = ${place.workspaceId}
    order by r.start_time desc, r.id desc limit ${recent}`.execute(sql);
  return rows;
}
