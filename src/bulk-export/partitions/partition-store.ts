import type { Sql } from "../../platform/db/database.ts";
import { raw } from "../../platform/db/raw.ts";
import { exactTimeSql } from "../../platform/exact-time.ts";
import type { ExportStatus } from "./export-status.ts";
import type { ExportFile, Partition, PendingUpload } from "./partition.ts";

// The tables and the wire call a partition a run of its export: bulk_export_runs, /bulk-exports/{id}/runs.

const columns =
  raw.raw(`r.id, r.bulk_export_id, r.workspace_id, r.session_id, r.status, r.retry_number, r.errors,
  r.export_path, r.files, r.rows_written, r.bytes_written, r.latest_cursor, r.pending_upload, r.job_id,
  ${["start_time", "end_time", "started_at", "finished_at", "created_at", "updated_at"]
    .map((name) => `${exactTimeSql(`r.${name}`)} as ${name}`)
    .join(", ")}`);

export type NewPartition = {
  id: string;
  session_id: string;
  start_time: string;
  end_time: string;
  export_path: string;
  /** Nothing to write: it is complete from the beginning. */
  empty: boolean;
};

export async function insertPartitions(
  sql: Sql,
  input: { exportId: string; workspaceId: string; now: Date; partitions: readonly NewPartition[] },
): Promise<void> {
  await raw`
    insert into bulk_export_runs (id, bulk_export_id, workspace_id, session_id, start_time, end_time, export_path,
      status, started_at, finished_at, created_at, updated_at)
    select n.id, ${input.exportId}, ${input.workspaceId}, n.session_id, n.start_time, n.end_time, n.export_path,
      case when n.empty then 'COMPLETED' else 'CREATED' end,
      case when n.empty then ${input.now}::timestamptz end, case when n.empty then ${input.now}::timestamptz end,
      ${input.now}, ${input.now}
    from jsonb_to_recordset(${JSON.stringify(input.partitions)}::jsonb) as n (id uuid, session_id uuid,
      start_time timestamptz, end_time timestamptz, export_path text, empty boolean)
    on conflict (bulk_export_id, session_id, start_time) do nothing`.execute(sql);
}

export async function findPartition(sql: Sql, id: string): Promise<Partition | undefined> {
  const { rows } = await raw<Partition>`select ${columns} from bulk_export_runs r where r.id = ${id}`.execute(
    sql,
  );
  return rows[0];
}

export async function listPartitions(sql: Sql, exportId: string): Promise<Partition[]> {
  const { rows } = await raw<Partition>`select ${columns} from bulk_export_runs r
    where r.bulk_export_id = ${exportId} order by r.start_time, r.session_id, r.id`.execute(sql);
  return rows;
}

/** Of everything a schedule has spawned. */
export async function listPartitionsOfSchedule(
  sql: Sql,
  workspaceId: string,
  sourceId: string,
): Promise<Partition[]> {
  const { rows } = await raw<Partition>`
    select ${columns} from bulk_export_runs r join bulk_exports e on e.id = r.bulk_export_id
    where e.source_bulk_export_id = ${sourceId} and e.workspace_id = ${workspaceId}
    order by r.start_time, r.session_id, r.id`.execute(sql);
  return rows;
}

export type PartitionChange = {
  status?: ExportStatus;
  retry_number?: number;
  errors?: Record<string, string>;
  files?: ExportFile[];
  rows_written?: number;
  bytes_written?: number;
  latest_cursor?: string | null;
  pending_upload?: PendingUpload | null;
  job_id?: string | null;
  started_at?: Date;
  finished_at?: Date | null;
};

const jsonColumns = new Set(["errors", "files", "pending_upload"]);

/** Changes a partition that is not finished; false when it is. */
export async function changePartition(
  sql: Sql,
  id: string,
  change: PartitionChange,
  now: Date,
): Promise<boolean> {
  const parts = Object.entries(change).map(([name, value]) => {
    const given = jsonColumns.has(name)
      ? raw`${value === null ? null : JSON.stringify(value)}::jsonb`
      : raw`${value}`;
    return raw`${raw.ref(name)} = ${given}`;
  });
  const { rows } = await raw`
    update bulk_export_runs set ${raw.join([...parts, raw`updated_at = ${now}`])}
    where id = ${id} and status in ('CREATED', 'RUNNING') returning id`.execute(sql);
  return rows.length > 0;
}

/** Counts rows of the file that is being written, never fewer than before, nor more than it is to have. */
export async function countUnderWay(
  sql: Sql,
  id: string,
  { token, rows }: { token: string; rows: number },
  now: Date,
): Promise<void> {
  await raw`
    update bulk_export_runs set updated_at = ${now}, pending_upload = jsonb_set(pending_upload, '{rows_count}',
      to_jsonb(least(${rows}::bigint, (pending_upload->>'expected_rows')::bigint)))
    where id = ${id} and status = 'RUNNING' and pending_upload->>'token' = ${token}
      and (pending_upload->>'rows_count')::bigint < least(${rows}::bigint, (pending_upload->>'expected_rows')::bigint)`.execute(
    sql,
  );
}

/** Ends the rest of an export; returns the jobs that were working on it. */
export async function endUnfinishedPartitions(
  sql: Sql,
  input: { exportId: string; status: ExportStatus; now: Date },
): Promise<string[]> {
  const { rows } = await raw<{ job_id: string | null }>`
    update bulk_export_runs
    set status = ${input.status}, finished_at = ${input.now}, updated_at = ${input.now}
    where bulk_export_id = ${input.exportId} and status in ('CREATED', 'RUNNING')
    returning job_id`.execute(sql);
  return rows.flatMap((row) => (row.job_id === null ? [] : [row.job_id]));
}

/** Waiting partitions without a job, as many as may join those that have one. */
export async function nextPartitions(sql: Sql, exportId: string, atOnce: number): Promise<string[]> {
  const { rows } = await raw<{ id: string }>`
    select id from bulk_export_runs
    where bulk_export_id = ${exportId} and status = 'CREATED' and job_id is null
    order by start_time, session_id
    limit greatest(0, ${atOnce}::int - (select count(*) from bulk_export_runs
      where bulk_export_id = ${exportId} and status in ('CREATED', 'RUNNING') and job_id is not null))
    for update`.execute(sql);
  return rows.map((row) => row.id);
}

export async function countUnfinishedPartitions(sql: Sql, exportId: string): Promise<number> {
  const { rows } = await raw<{ count: number }>`select count(*)::int as count from bulk_export_runs
    where bulk_export_id = ${exportId} and status in ('CREATED', 'RUNNING')`.execute(sql);
  return rows[0]!.count;
}

/** A partition whose files are not what was written starts from nothing. */
export async function reopenPartition(sql: Sql, id: string, now: Date): Promise<void> {
  await raw`update bulk_export_runs
    set status = 'CREATED', files = '[]', rows_written = 0, bytes_written = 0, latest_cursor = null,
      pending_upload = null, job_id = null, finished_at = null, updated_at = ${now}
    where id = ${id}`.execute(sql);
}
