import type { Sql } from "../../platform/db/database.ts";
import { raw } from "../../platform/db/raw.ts";
import { spawnDelayMinutes } from "./schedule.ts";

export type DueSchedule = { id: string; workspace_id: string; next_window: number };

/** Exports are to be looked after: one was created, or one has ended and made room. */
export const exportChannel = "treadle_exports";

const dueAt = raw`s.start_time
  + make_interval(hours => s.interval_hours * (s.next_window + 1), mins => ${spawnDelayMinutes}::int)`;

const isDue = (now: Date) => raw`s.interval_hours is not null and s.status = 'CREATED'
  and exists (select 1 from workspaces w where w.id = s.workspace_id and w.deleted_at is null)
  and ${dueAt} <= ${now}::timestamptz
  and not exists (select 1 from bulk_exports spawned
    where spawned.source_bulk_export_id = s.id and spawned.status in ('CREATED', 'RUNNING'))`;

/** Schedules whose next window is over and whose last export has ended: windows come one after another. */
export async function listDue(sql: Sql, now: Date): Promise<DueSchedule[]> {
  const { rows } = await raw<DueSchedule>`select s.id, s.workspace_id, s.next_window from bulk_exports s
    where ${isDue(now)}
    order by s.created_at limit 200`.execute(sql);
  return rows;
}

/**
 * When time decides something again: a window is over, or an export took too long. What is due already and still waits
 * does so for something else.
 */
export async function findNextDue(sql: Sql, now: Date, exportTimeoutMs: number): Promise<Date | null> {
  const { rows } = await raw<{ at: Date | null }>`select least(
      (select min(${dueAt}) from bulk_exports s
        where s.interval_hours is not null and s.status = 'CREATED' and ${dueAt} > ${now}::timestamptz),
      (select min(started_at) + ${exportTimeoutMs}::float8 * interval '1 millisecond' from bulk_exports
        where status = 'RUNNING')
    ) as at`.execute(sql);
  return rows[0]?.at ?? null;
}

/** The same, decided under a lock; undefined when another process was faster. */
export async function lockDue(sql: Sql, id: string, now: Date): Promise<DueSchedule | undefined> {
  const { rows } = await raw<DueSchedule>`select s.id, s.workspace_id, s.next_window from bulk_exports s
    where s.id = ${id} and ${isDue(now)} for update skip locked`.execute(sql);
  return rows[0];
}

export async function advanceWindow(sql: Sql, id: string, now: Date): Promise<void> {
  await raw`update bulk_exports set next_window = next_window + 1, updated_at = ${now} where id = ${id}`.execute(
    sql,
  );
}
