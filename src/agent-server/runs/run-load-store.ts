import type { Sql } from "../../platform/db/database.ts";
import { raw } from "../../platform/db/raw.ts";

/** Runs that another process could begin at once, and those under way in one process. */
export type RunLoad = { pending: number; running: number };

/** Beyond it the exact number tells nobody anything. */
const maxCounted = 100_000;

/** Of the runs of one thread only the first can begin, and only when none is under way. */
export async function readRunLoad(sql: Sql, processId: string): Promise<RunLoad> {
  const { rows } = await raw<RunLoad>`
    select (select count(*)::int from (
        select distinct r.thread_id from runs r
        where r.status = 'pending' and r.ended_at is null and r.available_at <= now()
          and not exists (select 1 from runs b where b.thread_id = r.thread_id and b.status = 'running')
        limit ${maxCounted}) waiting) as pending,
      (select count(*)::int from runs where lease_owner = ${processId}) as running`.execute(sql);
  return rows[0]!;
}
