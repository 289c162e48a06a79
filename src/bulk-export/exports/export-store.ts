import type { Sql } from "../../platform/db/database.ts";
import { raw } from "../../platform/db/raw.ts";
import { exactTimeSql } from "../../platform/exact-time.ts";
import type { ExportStatus } from "../partitions/export-status.ts";
import type { BulkExport, ExportFailure } from "./export.ts";

const times = (alias: string, names: string[]) =>
  names.map((name) => `${exactTimeSql(`${alias}.${name}`)} as ${name}`).join(", ");

const columns = raw.raw(`e.id, e.workspace_id, e.bulk_export_destination_id, e.session_id, e.all_experiments,
  e.interval_hours, e.filter, e.trace_filter, e.export_fields, e.format, e.format_version, e.compression, e.status,
  e.source_bulk_export_id, e.error, e.error_code, e.skipped_session_ids, ${times("e", [
    "start_time",
    "end_time",
    "planned_at",
    "started_at",
    "finished_at",
    "created_at",
    "updated_at",
  ])}`);

export type NewExport = Pick<
  BulkExport,
  | "id"
  | "workspace_id"
  | "bulk_export_destination_id"
  | "session_id"
  | "all_experiments"
  | "start_time"
  | "end_time"
  | "interval_hours"
  | "filter"
  | "trace_filter"
  | "export_fields"
  | "format"
  | "format_version"
  | "compression"
  | "source_bulk_export_id"
>;

/** Undefined when the window of its schedule was spawned already. */
export async function insertExport(sql: Sql, row: NewExport, now: Date): Promise<BulkExport | undefined> {
  const { rows } = await raw<BulkExport>`
    insert into bulk_exports as e (id, workspace_id, bulk_export_destination_id, session_id, all_experiments,
      start_time, end_time, interval_hours, filter, trace_filter, export_fields, format, format_version, compression, status,
      source_bulk_export_id, created_at, updated_at)
    values (${row.id}, ${row.workspace_id}, ${row.bulk_export_destination_id}, ${row.session_id},
      ${row.all_experiments}, ${row.start_time}, ${row.end_time}, ${row.interval_hours}, ${row.filter}, ${row.trace_filter},
      ${row.export_fields}::text[], ${row.format}, ${row.format_version}, ${row.compression}, 'CREATED',
      ${row.source_bulk_export_id}, ${now}, ${now})
    on conflict (source_bulk_export_id, start_time) where source_bulk_export_id is not null do nothing
    returning ${columns}`.execute(sql);
  return rows[0];
}

export async function findExport(sql: Sql, workspaceId: string, id: string): Promise<BulkExport | undefined> {
  const { rows } = await raw<BulkExport>`select ${columns} from bulk_exports e
    where e.id = ${id} and e.workspace_id = ${workspaceId}`.execute(sql);
  return rows[0];
}

/** For workers, which come with an id of their own making. */
export async function lockExport(sql: Sql, id: string): Promise<BulkExport | undefined> {
  const { rows } = await raw<BulkExport>`select ${columns} from bulk_exports e
    where e.id = ${id} for update`.execute(sql);
  return rows[0];
}

export type ExportPage = {
  limit: number | null;
  offset: number;
  /** Only exports that this schedule created. */
  sourceId: string | null;
  /** true: only exports that schedules created; false: only the others. */
  spawned: boolean | null;
};

export async function listExports(sql: Sql, workspaceId: string, page: ExportPage): Promise<BulkExport[]> {
  const conditions = [raw`e.workspace_id = ${workspaceId}`];
  if (page.sourceId !== null) conditions.push(raw`e.source_bulk_export_id = ${page.sourceId}`);
  if (page.spawned !== null) conditions.push(raw`(e.source_bulk_export_id is not null) = ${page.spawned}`);
  const { rows } = await raw<BulkExport>`select ${columns} from bulk_exports e
    where ${raw.join(conditions, raw` and `)} order by e.created_at desc, e.id desc
    limit ${page.limit} offset ${page.offset}`.execute(sql);
  return rows;
}

export type ExportProgress = {
  bulk_export_id: string;
  runs_total: number;
  runs_finished: number;
  rows_written: number;
  files_written: number;
  bytes_written: number;
  percentage: number;
};

/** With what an engine has written of the files it is at. */
export async function readProgress(sql: Sql, ids: readonly string[]): Promise<Map<string, ExportProgress>> {
  const { rows } = await raw<ExportProgress>`
    select r.bulk_export_id, count(*)::int as runs_total,
      count(*) filter (where r.status not in ('CREATED', 'RUNNING'))::int as runs_finished,
      sum(r.rows_written + coalesce(u.rows, 0))::bigint as rows_written,
      sum(jsonb_array_length(r.files))::int as files_written,
      sum(r.bytes_written)::bigint as bytes_written,
      round(avg(case
        when r.status = 'COMPLETED' then 100
        else 100 * least(1, greatest(0,
          (extract(epoch from a.at - r.start_time) + coalesce(u.share * extract(epoch from u.target - a.at), 0))
          / extract(epoch from r.end_time - r.start_time)))
      end), 1)::float8 as percentage
    from bulk_export_runs r
    cross join lateral (
      select coalesce(split_part(r.latest_cursor, ',', 1)::timestamptz, r.start_time) as at
    ) a
    left join lateral (
      select p.rows_count as rows, least(1, p.rows_count::numeric / nullif(p.expected_rows, 0)) as share,
        split_part(p.target_cursor, ',', 1)::timestamptz as target
      from jsonb_to_record(r.pending_upload) as p (rows_count bigint, expected_rows bigint, target_cursor text)
      where r.status = 'RUNNING' and p.expected_rows is not null
    ) u on true
    where r.bulk_export_id = any(${[...ids]}::uuid[])
    group by r.bulk_export_id`.execute(sql);
  return new Map(rows.map((row) => [row.bulk_export_id, row]));
}

/** Moves an export only from where it may come. */
export async function moveExport(
  sql: Sql,
  input: { id: string; from: readonly ExportStatus[]; to: ExportStatus; now: Date; failure?: ExportFailure },
): Promise<boolean> {
  const finished = input.to !== "RUNNING";
  const { rows } = await raw`
    update bulk_exports set status = ${input.to}, updated_at = ${input.now},
      error = coalesce(${input.failure?.message ?? null}, error),
      error_code = coalesce(${input.failure?.code ?? null}, error_code),
      started_at = case when ${!finished} then ${input.now}::timestamptz else started_at end,
      finished_at = case when ${finished} then ${input.now}::timestamptz end
    where id = ${input.id} and status = any(${[...input.from]}::text[])
    returning id`.execute(sql);
  return rows.length > 0;
}

export async function markPlanned(
  sql: Sql,
  input: { id: string; skipped: readonly string[]; now: Date },
): Promise<void> {
  await raw`update bulk_exports set planned_at = ${input.now}, updated_at = ${input.now},
      skipped_session_ids = ${[...input.skipped]}::uuid[]
    where id = ${input.id}`.execute(sql);
}

/** What happens to the exports of one workspace happens one after another: caps and slots are counted under it. */
export async function lockWorkspaceExports(sql: Sql, workspaceId: string): Promise<void> {
  await raw`select pg_advisory_xact_lock(hashtextextended('bulk_exports:' || ${workspaceId}, 0))`.execute(
    sql,
  );
}

/** Creations after `since`, one-time and spawned; and when the one that must age out first was made. */
export async function countCreatedSince(
  sql: Sql,
  input: { workspaceId: string; since: Date; cap: number },
): Promise<{ count: number; frees_at: Date | null }> {
  const { rows } = await raw<{ count: number; frees_at: Date | null }>`
    select count(*)::int as count,
      (array_agg(created_at order by created_at desc))[${input.cap}::int] as frees_at
    from bulk_exports
    where workspace_id = ${input.workspaceId} and interval_hours is null and created_at > ${input.since}`.execute(
    sql,
  );
  return rows[0]!;
}

export async function countSchedules(sql: Sql, workspaceId: string): Promise<number> {
  const { rows } = await raw<{ count: number }>`select count(*)::int as count from bulk_exports
    where workspace_id = ${workspaceId} and interval_hours is not null and status = 'CREATED'`.execute(sql);
  return rows[0]!.count;
}

export async function workspacesWaiting(sql: Sql): Promise<string[]> {
  const { rows } = await raw<{ workspace_id: string }>`select distinct workspace_id from bulk_exports
    where status = 'CREATED' and interval_hours is null`.execute(sql);
  return rows.map((row) => row.workspace_id);
}

/** The oldest waiting exports of a workspace become running ones, as far as there are slots. */
export async function startWaiting(
  sql: Sql,
  input: { workspaceId: string; slots: number; now: Date },
): Promise<string[]> {
  const { rows } = await raw<{ id: string }>`
    update bulk_exports set status = 'RUNNING', started_at = ${input.now}, updated_at = ${input.now}
    where id in (
      select id from bulk_exports
      where workspace_id = ${input.workspaceId} and status = 'CREATED' and interval_hours is null
      order by created_at, id
      limit greatest(0, ${input.slots}::int - (select count(*) from bulk_exports
        where workspace_id = ${input.workspaceId} and status = 'RUNNING'))
      for update
    )
    returning id`.execute(sql);
  return rows.map((row) => row.id);
}

export async function listOverdue(sql: Sql, startedBefore: Date): Promise<string[]> {
  const { rows } = await raw<{ id: string }>`select id from bulk_exports
    where status = 'RUNNING' and started_at <= ${startedBefore}`.execute(sql);
  return rows.map((row) => row.id);
}
