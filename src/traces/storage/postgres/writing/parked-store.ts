import type { Sql } from "../../../../platform/db/database.ts";
import { raw } from "../../../../platform/db/raw.ts";
import { runStatement } from "../../../../platform/db/run-statement.ts";
import type { RunKey } from "../../../runs/stored-run.ts";

/** Planned for its values each time: of a while, and seldom of all time. */
export const overtaken = {
  name: "",
  text: `select w.run_id as id, w.workspace_id as "workspaceId"
    from (select distinct run_id, workspace_id from trace_parked_patches where received_at >= $1) w
    cross join lateral (select from trace_runs r where r.id = w.run_id and r.workspace_id = w.workspace_id limit 1) r
    limit $2`,
};

/** The same for tokens and costs. */
export const overtakenSpending = {
  name: "",
  text: `select w.run_id as id, w.workspace_id as "workspaceId" from trace_parked_usage w
    cross join lateral (select from trace_runs r where r.id = w.run_id and r.workspace_id = w.workspace_id limit 1) r
    where w.received_at >= $1 limit $2`,
};

type ParkedQuery = { limit: number; since: Date | undefined };

/**
 * Runs that are stored although something still waits for them: it was parked while they were being written. Most of what
 * was parked before `since` waits for runs that never come.
 */
export function listOvertaken(sql: Sql, { limit, since }: ParkedQuery): Promise<RunKey[]> {
  return runStatement<RunKey>(sql, overtaken, [since ?? "-infinity", limit]);
}

export function listOvertakenSpending(sql: Sql, { limit, since }: ParkedQuery): Promise<RunKey[]> {
  return runStatement<RunKey>(sql, overtakenSpending, [since ?? "-infinity", limit]);
}

export async function deleteParkedBefore(sql: Sql, before: Date): Promise<void> {
  await raw`delete from trace_parked_patches where received_at < ${before}`.execute(sql);
  await raw`delete from trace_parked_usage where received_at < ${before}`.execute(sql);
}
