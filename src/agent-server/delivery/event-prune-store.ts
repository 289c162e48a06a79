import type { Database, Sql, Statement } from "../../platform/db/database.ts";
import { raw } from "../../platform/db/raw.ts";

/** A place in the log by age; events of one commit are of one age. The time is text: a `Date` has no microseconds. */
export type AgedPlace = { created_at: string; thread_id: string; seq: string };

/** Before every event, or before those from a time on. */
export function placeBefore(time: Date | null): AgedPlace {
  const created_at = time?.toISOString() ?? "-infinity";
  return { created_at, thread_id: "00000000-0000-0000-0000-000000000000", seq: "-1" };
}

/** How many events one statement looks at. */
export const prunedAtOnce = 5_000;

/**
 * Looks at the next events of runs' own streams by age, deletes those of runs that ended long enough ago, and answers up
 * to where it looked. Events of active runs stay, however old. Runs are looked up one by one, and rows are deleted by
 * their place on disk: a join would read all runs for each batch as soon as the planner takes those that have just ended
 * for few.
 */
export const pruneStatement: Statement = {
  // Without a name it is planned each time: it is rare, and a plan made for a small table would read all of it.
  name: "",
  text: `with looked as materialized (
      select e.ctid as place, e.thread_id, e.seq, e.run_id, e.created_at from thread_events e
      where e.family <> 'protocol' and e.created_at >= $1::timestamptz and e.created_at < $4::timestamptz
        and (e.created_at, e.thread_id, e.seq) > ($1::timestamptz, $2::uuid, $3::bigint)
      order by e.created_at, e.thread_id, e.seq limit ${prunedAtOnce}
    ), gone as (
      delete from thread_events where ctid = any (array(
        select l.place from looked l
        where (select r.ended_at is null or r.ended_at >= $4::timestamptz from runs r
          where r.run_id = l.run_id limit 1) is not true))
      returning 1
    )
    select (select count(*) from gone)::int as deleted, (select count(*) from looked)::int as looked,
      l.created_at::text as created_at, l.thread_id, l.seq::text as seq
    from looked l order by l.created_at desc, l.thread_id desc, l.seq desc limit 1`,
};

/** The next events after a place; undefined when there are none. */
export async function pruneAfter(
  database: Database,
  place: AgedPlace,
  endedBefore: Date,
): Promise<(AgedPlace & { deleted: number; looked: number }) | undefined> {
  const { created_at, thread_id, seq } = place;
  const [row] = await database.query<AgedPlace & { deleted: number; looked: number }>(pruneStatement, [
    ...[created_at, thread_id, seq],
    endedBefore,
  ]);
  return row;
}

const longLogsAtOnce = 1_000;

export const longLogs: Statement = {
  name: "",
  text: `select thread_id from threads
    where protocol and updated_at >= $1::timestamptz and last_seq - pruned_seq > $2::bigint
    order by last_seq - pruned_seq desc limit ${longLogsAtOnce}`,
};

/** Threads of the streaming protocol that may hold more than `keep` events; since `from` only, when it is given. */
export async function findLongLogs(
  database: Database,
  { keep, from }: { keep: number; from: Date | null },
): Promise<string[]> {
  const rows = await database.query<{ thread_id: string }>(longLogs, [from ?? "-infinity", keep]);
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
