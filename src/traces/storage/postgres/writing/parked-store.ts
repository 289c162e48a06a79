import type { Sql } from "../../../../platform/db/database.ts";
import { raw } from "../../../../platform/db/raw.ts";
import type { RunKey } from "../../../runs/stored-run.ts";

/** Runs that are stored although something still waits for them: it was parked while they were being written. */
export async function listOvertaken(sql: Sql, limit: number): Promise<RunKey[]> {
  const { rows } = await raw<RunKey>`
    select w.run_id as id, w.workspace_id as "workspaceId"
    from (select distinct run_id, workspace_id from trace_parked_patches) w
    cross join lateral (select from trace_runs r where r.id = w.run_id and r.workspace_id = w.workspace_id limit 1) r
    limit ${limit}
  `.execute(sql);
  return rows;
}

/** The same for tokens and costs. */
export async function listOvertakenSpending(sql: Sql, limit: number): Promise<RunKey[]> {
  const { rows } = await raw<RunKey>`
    select w.run_id as id, w.workspace_id as "workspaceId" from trace_parked_usage w
    cross join lateral (select from trace_runs r where r.id = w.run_id and r.workspace_id = w.workspace_id limit 1) r
    limit ${limit}
  `.execute(sql);
  return rows;
}

export async function deleteParkedBefore(sql: Sql, before: Date): Promise<void> {
  await raw`delete from trace_parked_patches where received_at < ${before}`.execute(sql);
  await raw`delete from trace_parked_usage where received_at < ${before}`.execute(sql);
}
