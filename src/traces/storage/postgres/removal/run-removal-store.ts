import type { Sql } from "../../../../platform/db/database.ts";
import { raw } from "../../../../platform/db/raw.ts";
import type { RunPlace } from "../../run-storage.ts";
import type { Month } from "../partitions/partition.ts";

/** Deletes up to `limit` runs of a project, with their attachments and feedback; returns how many. */
export function deleteRunsOfProject(sql: Sql, place: RunPlace, limit: number): Promise<number> {
  return deleteRuns(
    sql,
    raw`select id, start_time, workspace_id from trace_runs
        where project_id = ${place.projectId} and workspace_id = ${place.workspaceId} limit ${limit}`,
  );
}

/** The same for whole traces of a project. */
export function deleteRunsOfTraces(
  sql: Sql,
  place: RunPlace,
  traceIds: readonly string[],
  limit: number,
): Promise<number> {
  return deleteRuns(
    sql,
    raw`select id, start_time, workspace_id from trace_runs
        where project_id = ${place.projectId} and workspace_id = ${place.workspaceId}
          and trace_id = any(${traceIds}::uuid[]) limit ${limit}`,
  );
}

/** The same for the runs of a project that began before a time. */
export function deleteRunsBefore(sql: Sql, place: RunPlace, before: Date, limit: number): Promise<number> {
  return deleteRuns(
    sql,
    raw`select id, start_time, workspace_id from trace_runs
        where project_id = ${place.projectId} and workspace_id = ${place.workspaceId}
          and start_time < ${before} limit ${limit}`,
  );
}

/** `= any (array[…])` for the reason given at the statements of ingestion: it keeps to the indexes. */
async function deleteRuns(sql: Sql, which: ReturnType<typeof raw>): Promise<number> {
  const { rows } = await raw<{ count: number }>`
    with doomed as materialized (${which}),
    gone as (
      delete from trace_runs r using doomed d
      where r.id = any (array[d.id]) and r.start_time = any (array[d.start_time]) and r.workspace_id = d.workspace_id
    ), ids as (
      delete from trace_run_ids k using doomed d where k.id = any (array[d.id]) and k.workspace_id = d.workspace_id
    ), attachments as (
      delete from trace_attachments a using doomed d where a.run_id = d.id and a.workspace_id = d.workspace_id
    ), feedback as (
      delete from trace_feedback f using doomed d where f.run_id = d.id and f.workspace_id = d.workspace_id
    )
    select count(*)::int as count from doomed
  `.execute(sql);
  return rows[0]?.count ?? 0;
}

/** The projects of a partition, found by skipping along its index. */
export async function listPartitionProjects(sql: Sql, name: string): Promise<string[]> {
  const table = raw.id(name);
  const { rows } = await raw<{ project_id: string }>`
    with recursive each (project_id) as (
      (select project_id from ${table} order by project_id limit 1)
      union all
      select (select t.project_id from ${table} t where t.project_id > each.project_id order by t.project_id limit 1)
      from each where each.project_id is not null
    )
    select project_id from each where project_id is not null
  `.execute(sql);
  return rows.map((row) => row.project_id);
}

/** What hangs on the runs of a partition goes before the partition does. */
export async function deletePartitionCompanions(sql: Sql, { name, from, to }: Month): Promise<void> {
  const table = raw.id(name);
  await raw`delete from trace_run_ids where start_time >= ${from} and start_time < ${to}`.execute(sql);
  await raw`delete from trace_attachments a using ${table} r where a.run_id = r.id and a.workspace_id = r.workspace_id`.execute(
    sql,
  );
  await raw`delete from trace_feedback f using ${table} r where f.run_id = r.id and f.workspace_id = r.workspace_id`.execute(
    sql,
  );
}
