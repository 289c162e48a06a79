import type { Sql } from "../../platform/db/database.ts";
import { raw } from "../../platform/db/raw.ts";

/**
 * Deletes the events of runs that ended before `endedBefore` in their own streams, and the events of deleted threads;
 * with `from`, only events younger than it. Events of active runs stay, however old.
 */
export async function deleteEndedRunEvents(
  sql: Sql,
  query: { from: Date | null; endedBefore: Date; limit: number },
): Promise<number> {
  const { rows } = await raw<{ deleted: number }>`with old as (
      select e.thread_id, e.seq from thread_events e
      where e.created_at < ${query.endedBefore}
        and (e.family <> 'protocol' or not exists (select 1 from threads t where t.thread_id = e.thread_id))
        and e.created_at >= coalesce(${query.from}::timestamptz, '-infinity')
        and not exists (
          select 1 from runs r where r.run_id = e.run_id
            and (r.ended_at is null or r.ended_at >= ${query.endedBefore}))
      order by e.created_at limit ${query.limit}
    ), gone as (
      delete from thread_events e using old where e.thread_id = old.thread_id and e.seq = old.seq returning 1
    )
    select count(*)::int as deleted from gone`.execute(sql);
  return rows[0]!.deleted;
}

/** Threads of the streaming protocol that may hold more than `keep` events; since `from` only, when it is given. */
export async function findLongLogs(
  sql: Sql,
  query: { keep: number; from: Date | null; limit: number },
): Promise<string[]> {
  const { rows } = await raw<{ thread_id: string }>`select thread_id from threads
    where protocol and last_seq - pruned_seq > ${query.keep}
      and updated_at >= coalesce(${query.from}::timestamptz, '-infinity')
    order by last_seq - pruned_seq desc limit ${query.limit}`.execute(sql);
  return rows.map((row) => row.thread_id);
}

/**
 * Leaves the newest `keep` protocol events of a thread, and all of its active runs; remembers up to where the
 * log is gone, so that a reader who asks for more gets the gap.
 */
export async function cutLog(sql: Sql, threadId: string, keep: number): Promise<number> {
  const { rows } = await raw<{ deleted: number }>`with cut as (
      select least(
        (select seq from thread_events where thread_id = ${threadId} and family = 'protocol'
          order by seq desc offset ${keep} limit 1),
        (select min(e.seq) - 1 from thread_events e join runs r on r.run_id = e.run_id
          where e.thread_id = ${threadId} and r.status in ('pending', 'running'))
      ) as seq
      where exists (select 1 from thread_events where thread_id = ${threadId} and family = 'protocol'
        order by seq desc offset ${keep} limit 1)
    ), gone as (
      delete from thread_events e using cut
      where e.thread_id = ${threadId} and e.family = 'protocol' and e.seq <= cut.seq
      returning 1
    ), marked as (
      update threads set pruned_seq = greatest(pruned_seq, cut.seq),
        pruned_protocol_seq = greatest(pruned_protocol_seq, (
          select coalesce(number, seq) from thread_events where thread_id = ${threadId} and family = 'protocol'
            and seq <= cut.seq order by seq desc limit 1))
      from cut where thread_id = ${threadId}
    )
    select count(*)::int as deleted from gone`.execute(sql);
  return rows[0]!.deleted;
}
