import type { Sql } from "../../platform/db/database.ts";
import { raw } from "../../platform/db/raw.ts";

/** Deletes up to `limit` runs of a project, with their attachments and feedback; says how many went. */
export function deleteRunsOfProject(sql: Sql, projectId: string, limit: number): Promise<number> {
  return deleteRuns(sql, raw`select id, start_time, workspace_id from trace_runs where project_id = ${projectId} limit ${limit}`);
}

/** The same for the runs of a project that began before a time. */
export function deleteRunsBefore(sql: Sql, projectId: string, before: Date, limit: number): Promise<number> {
  return deleteRuns(
    sql,
    raw`select id, start_time, workspace_id from trace_runs
        where project_id = ${projectId} and start_time < ${before} limit ${limit}`,
  );
}

async function deleteRuns(sql: Sql, which: ReturnType<typeof raw>): Promise<number> {
  const { rows } = await raw<{ count: number }>`
    with doomed as materialized (${which}),
    gone as (
      delete from trace_runs r using doomed d
      where r.id = d.id and r.start_time = d.start_time and r.workspace_id = d.workspace_id
    ), attachments as (
      delete from trace_attachments a using doomed d where a.run_id = d.id and a.workspace_id = d.workspace_id
    ), feedback as (
      delete from trace_feedback f using doomed d where f.run_id = d.id and f.workspace_id = d.workspace_id
    )
    select count(*)::int as count from doomed
  `.execute(sql);
  return rows[0]?.count ?? 0;
}

export type Retention = { project_id: string; retention_days: number };

/** Projects whose runs are not kept for ever. */
export async function listRetentions(sql: Sql): Promise<Retention[]> {
  const { rows } = await raw<Retention>`
    select p.id as project_id, coalesce(p.retention_days, s.retention_days) as retention_days
    from trace_projects p left join trace_settings s using (workspace_id)
    where p.deleted_at is null and coalesce(p.retention_days, s.retention_days) is not null
  `.execute(sql);
  return rows;
}

/** Whether a partition holds a run that nobody has set an end for. */
export async function isPartitionEmpty(sql: Sql, name: string): Promise<boolean> {
  const { rows } = await raw<{ used: boolean }>`select exists (select from ${raw.id(name)}) as used`.execute(sql);
  return rows[0]?.used === false;
}

export async function deleteParkedBefore(sql: Sql, before: Date): Promise<void> {
  await raw`delete from trace_parked_patches where received_at < ${before}`.execute(sql);
  await raw`delete from trace_parked_usage where received_at < ${before}`.execute(sql);
}
