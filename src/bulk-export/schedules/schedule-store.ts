import type { Sql } from "../../platform/db/database.ts";
import { raw } from "../../platform/db/raw.ts";
import { spawnDelayMinutes } from "./schedule.ts";

export type DueSchedule = { id: string; workspace_id: string; next_window: number };

const isDue = (now: Date) => raw`s.interval_hours is not null and s.status = 'CREATED'
  and exists (select 1 from workspaces w where w.id = s.workspace_id and w.deleted_at is null)
  and s.start_time + make_interval(hours => s.interval_hours * (s.next_window + 1), mins => ${spawnDelayMinutes}::int)
    <= ${now}::timestamptz
  and not exists (select 1 from bulk_exports spawned
    where spawned.source_bulk_export_id = s.id and spawned.status in ('CREATED', 'RUNNING'))`;

/** Schedules whose next window is over and whose last export has ended: windows come one after another. */
export async function listDue(sql: Sql, now: Date): Promise<DueSchedule[]> {
  const { rows } = await raw<DueSchedule>`select s.id, s.workspace_id, s.next_window from bulk_exports s
    where ${isDue(now)}
    order by s.created_at limit 200`.execute(sql);
  return rows;
}

/** The same, decided under a lock; undefined when somebody else was faster. */
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
