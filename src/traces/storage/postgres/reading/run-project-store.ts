import type { Sql } from "../../../../platform/db/database.ts";
import { raw } from "../../../../platform/db/raw.ts";

/** The project a stored run stands in. */
export async function findProjectOfRun(
  sql: Sql,
  workspaceId: string,
  runId: string,
): Promise<string | undefined> {
  const { rows } = await raw<{ project_id: string }>`
    select project_id from trace_runs where id = ${runId} and workspace_id = ${workspaceId} limit 1`.execute(
    sql,
  );
  return rows[0]?.project_id;
}
