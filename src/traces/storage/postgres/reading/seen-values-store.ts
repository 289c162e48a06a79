import type { Sql } from "../../../../platform/db/database.ts";
import { raw } from "../../../../platform/db/raw.ts";
import type { SeenRun } from "../../run-query.ts";

const recent = 500;

type Place = { workspaceId: string; projectId: string };

export async function listRecentRuns(sql: Sql, place: Place): Promise<SeenRun[]> {
  const { rows } = await raw<SeenRun>`select r.name, r.run_type, r.tags, r.metadata from trace_runs r
    where r.project_id = ${place.projectId} and r.workspace_id = ${place.workspaceId}
    order by r.start_time desc, r.id desc limit ${recent}`.execute(sql);
  return rows;
}

export async function listSeenFeedbackKeys(sql: Sql, place: Place): Promise<string[]> {
  const { rows } = await raw<{ key: string }>`select key from (
      select key from trace_feedback where project_id = ${place.projectId} and workspace_id = ${place.workspaceId}
      limit ${recent}
    ) given group by key order by count(*) desc`.execute(sql);
  return rows.map((row) => row.key);
}
