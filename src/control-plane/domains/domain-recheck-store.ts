import type { Sql } from "../../platform/db/database.ts";
import { raw } from "../../platform/db/raw.ts";
import type { Domain, DomainProblem } from "./domain.ts";

export async function hasDue(sql: Sql, now: Date): Promise<boolean> {
  const { rows } = await raw`
    select 1 from deployment_domains where verified_at is not null and next_check_at <= ${now} limit 1`.execute(
    sql,
  );
  return rows.length > 0;
}

/** Verified domains whose next check has come, the longest due first. */
export async function listDue(sql: Sql, now: Date, limit: number): Promise<Domain[]> {
  const { rows } = await raw<Domain>`
    select * from deployment_domains where verified_at is not null and next_check_at <= ${now}
    order by next_check_at limit ${limit}`.execute(sql);
  return rows;
}

/** The proof is there. */
export async function saveFound(
  tx: Sql,
  id: string,
  { now, nextCheckAt }: { now: Date; nextCheckAt: Date },
): Promise<void> {
  await raw`
    update deployment_domains set problem = null, checked_at = ${now}, next_check_at = ${nextCheckAt},
      missed_checks = 0, missing_since = null
    where id = ${id}`.execute(tx);
}

/** The proof is missing. The domain is still served. */
export async function saveMissed(
  tx: Sql,
  id: string,
  missed: {
    problem: DomainProblem;
    now: Date;
    missedChecks: number;
    missingSince: Date;
    nextCheckAt: Date;
  },
): Promise<void> {
  await raw`
    update deployment_domains set problem = ${missed.problem}, checked_at = ${missed.now},
      next_check_at = ${missed.nextCheckAt}, missed_checks = ${missed.missedChecks},
      missing_since = ${missed.missingSince}
    where id = ${id}`.execute(tx);
}

/** DNS gave no answer, which says nothing about the proof. */
export async function savePostponed(sql: Sql, id: string, nextCheckAt: Date): Promise<void> {
  await raw`update deployment_domains set next_check_at = ${nextCheckAt} where id = ${id}`.execute(sql);
}

export type CheckCount = { checks: number; endsInSeconds: number };

/** Counts a check of a workspace, for all servers of the database, in windows of a minute. */
export async function countCheck(sql: Sql, workspaceId: string): Promise<CheckCount> {
  const { rows } = await raw<CheckCount>`
    insert into domain_checks as c (workspace_id, checks, ends_at)
    values (${workspaceId}, 1, now() + interval '1 minute')
    on conflict (workspace_id) do update set
      checks = case when c.ends_at <= now() then 1 else c.checks + 1 end,
      ends_at = case when c.ends_at <= now() then excluded.ends_at else c.ends_at end
    returning checks, extract(epoch from ends_at - now())::float8 as "endsInSeconds"`.execute(sql);
  return rows[0]!;
}
