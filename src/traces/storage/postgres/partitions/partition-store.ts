import type { Sql } from "../../../../platform/db/database.ts";
import { raw } from "../../../../platform/db/raw.ts";
import type { Month } from "./partition.ts";

export async function listPartitions(sql: Sql): Promise<string[]> {
  const { rows } = await raw<{ name: string }>`
    select c.relname as name from pg_inherits i join pg_class c on c.oid = i.inhrelid
    where i.inhparent = 'trace_runs'::regclass order by 1
  `.execute(sql);
  return rows.map((row) => row.name);
}

/**
 * Makes a month's partition and moves into it what the default one holds of that month. Within a transaction:
 * the lock keeps two processes from making the same one.
 */
export async function createPartition(sql: Sql, month: Month): Promise<void> {
  await raw`select pg_advisory_xact_lock(hashtext('trace_runs partitions'))`.execute(sql);
  const { rows } = await raw<{ found: boolean; options: string }>`
    select to_regclass(${month.name}) is not null as found, coalesce(array_to_string(reloptions, ', '), 'fillfactor = 100') as options
    from pg_class where oid = 'trace_runs_default'::regclass
  `.execute(sql);
  const { found, options } = rows[0]!;
  if (found) return;
  const name = raw.id(month.name);
  const from = raw.lit(month.from);
  const to = raw.lit(month.to);
  await raw`lock table trace_runs_default in access exclusive mode`.execute(sql);
  // How large a row may be before its payloads are compressed depends on what PostgreSQL can do. The clause must not be empty:
  // without options it names a default.
  await raw`create table ${name} (like trace_runs including defaults including storage including compression)
    with (${raw.raw(options)})`.execute(sql);
  await raw`
    with moved as (delete from trace_runs_default where start_time >= ${from} and start_time < ${to} returning *)
    insert into ${name} select * from moved
  `.execute(sql);
  await raw`alter table trace_runs attach partition ${name} for values from (${from}) to (${to})`.execute(
    sql,
  );
}

export async function dropPartition(sql: Sql, name: string): Promise<void> {
  await raw`drop table if exists ${raw.id(name)}`.execute(sql);
}
