import type { Database, Statement } from "../../platform/db/database.ts";
import { sqlState } from "../../platform/db/database-errors.ts";
import { textArray } from "../../platform/db/text-array.ts";
import type { EventFamily, EventNumbers, ThreadEvent } from "./thread-event.ts";

/** A row on its way into the log, with the lease that entitles its writer. */
export type EventRow = ThreadEvent & { attempt: number };

/**
 * Runs are found by their id alone, here and in every check of a lease. The planner takes the index of running runs for
 * small, but it holds every run that ended since the last vacuum.
 */
const appendText = (onConflict: string, alsoLost: string) => `with q as (
    select * from unnest((select $1::uuid[]), $2::bigint[], $3::uuid[], $4::int[], $5::text[], $6::text[], $7::text[], $8::text[],
      $9::bigint[]) as q(thread_id, seq, run_id, attempt, family, name, namespace, data, number)
  ), held as materialized (
    select d.run_id, d.attempt from (select distinct run_id, attempt from q) d
    where (select r.status = 'running' and r.attempt = d.attempt from runs r where r.run_id = d.run_id)
  ), written as (
    insert into thread_events (thread_id, seq, run_id, family, name, namespace, data, number)
    select q.thread_id, q.seq, q.run_id, q.family, q.name, q.namespace, q.data, q.number
    from q join held h on h.run_id = q.run_id and h.attempt = q.attempt
    ${onConflict}
  )
  select distinct q.run_id, q.attempt from q
  where not exists (select 1 from held h where h.run_id = q.run_id and h.attempt = q.attempt)${alsoLost}`;

export const appendStatement: Statement = { name: "thread_events_append_4", text: appendText("", "") };

/**
 * The same for rows of which some are stored already, by a commit that was not confirmed. If another writer's event has
 * the number, this writer no longer assigns the numbers. `= any (array[…])` cannot be hashed: otherwise a small table
 * would be scanned whole, and so would the large one it becomes.
 */
export const appendAgainStatement: Statement = {
  name: "thread_events_append_again_4",
  text: appendText(
    "on conflict (thread_id, seq) do nothing returning thread_id, seq",
    `
    or (not exists (select 1 from written w where w.thread_id = q.thread_id and w.seq = q.seq)
      and not exists (select 1 from thread_events e where e.thread_id = any (array[q.thread_id]) and e.seq = q.seq
        and e.run_id = q.run_id and e.name = q.name and e.data = q.data))`,
  ),
};

export const readAfter: Statement = {
  name: "thread_events_read_3",
  // Lengths are known without reading what is stored apart.
  text: `select seq, number, run_id, family, name, namespace, data from (
      select p.*, sum(octet_length(data)) over (order by seq) - octet_length(data) as bytes_before from (
        select seq, coalesce(number, seq) as number, run_id, family, name, namespace, data from thread_events
        where thread_id = $1 and seq > $2 order by seq limit $3
      ) p
    ) q where bytes_before < $4 order by seq`,
};

type StoredEvent = {
  seq: number;
  number: number;
  run_id: string;
  family: EventFamily;
  name: string;
  namespace: string;
  data: string;
};

/** Writes a batch in one statement; returns the leases (run and attempt) that no longer hold. */
export async function appendEvents(
  database: Database,
  rows: readonly EventRow[],
): Promise<{ run_id: string; attempt: number }[]> {
  const values = [
    rows.map((row) => row.threadId),
    rows.map((row) => row.seq),
    rows.map((row) => row.runId),
    rows.map((row) => row.attempt),
    textArray(rows.map((row) => row.family)),
    textArray(rows.map((row) => row.name)),
    textArray(rows.map((row) => row.namespace)),
    textArray(rows.map((row) => row.data)),
    rows.map((row) => row.number),
  ];
  try {
    return await database.query(appendStatement, values);
  } catch (error) {
    if (sqlState(error) !== "23505") throw error;
    return database.query(appendAgainStatement, values);
  }
}

/** At most that many, and no more once they are that large together; the first is always there. */
export async function readEvents(
  database: Database,
  threadId: string,
  afterSeq: number,
  { limit, bytes }: { limit: number; bytes: number },
): Promise<ThreadEvent[]> {
  const rows = await database.query<StoredEvent>(readAfter, [threadId, afterSeq, limit, bytes]);
  return rows.map((row) => ({
    threadId,
    seq: Number(row.seq),
    number: Number(row.number),
    runId: row.run_id,
    family: row.family,
    name: row.name,
    namespace: row.namespace,
    data: row.data,
  }));
}

/** The number of the last event of the streaming protocol that the log of thread `t` holds. */
export const lastLoggedProtocolSeq = `coalesce((select coalesce(e.number, e.seq) from thread_events e
  where e.thread_id = t.thread_id and e.family = 'protocol' order by e.seq desc limit 1), 0)`;

/** The same, also when its events are gone. A thread without clients of the protocol need not be looked through. */
export const lastProtocolSeq = `case when t.protocol then greatest(t.protocol_seq, ${lastLoggedProtocolSeq})
  else t.protocol_seq end`;

export const lastSeq: Statement = {
  name: "thread_events_last_2",
  text: `select greatest(
      coalesce((select max(seq) from thread_events where thread_id = $1), 0),
      coalesce((select last_seq from threads where thread_id = $1), 0)
    ) as seq, coalesce((select ${lastProtocolSeq} from threads t where t.thread_id = $1), 0) as protocol`,
};

/** The end of a thread's log: the highest place, and the highest number of the streaming protocol. */
export type LogEnd = Pick<EventNumbers, "seq" | "protocol">;

export async function logEndOf(database: Database, threadId: string): Promise<LogEnd> {
  const [row] = await database.query<LogEnd>(lastSeq, [threadId]);
  return { seq: Number(row?.seq ?? 0), protocol: Number(row?.protocol ?? 0) };
}

export const lastOfRun: Statement = {
  name: "thread_events_last_of_run_1",
  text: `select max(coalesce(number, seq)) as number from thread_events where run_id = $1 and family = 'run'`,
};

/** The highest number given out in a run's own stream; -1 before the first. */
export async function lastNumberOf(database: Database, runId: string): Promise<number> {
  const [row] = await database.query<{ number: number | null }>(lastOfRun, [runId]);
  return Number(row?.number ?? -1);
}
