import type { Database, Statement } from "../../platform/db/database.ts";

/** Where in a thread's log the reader of a run begins. */
export type JoinPoint = {
  afterSeq: number;
  /** Events of the run up to this number are known to it already. */
  afterNumber?: number;
};

/** The number a client saw last: -1 for one that saw none; undefined when it does not say. */
export function readLastEventId(text: string | undefined): number | undefined {
  if (text === "-" || text === "-1") return -1;
  return text !== undefined && /^\d{1,15}$/.test(text) ? Number(text) : undefined;
}

export const runEventRange: Statement = {
  name: "thread_events_run_range_1",
  text: `select min(seq) as first_seq, max(coalesce(number, seq)) as last_number from thread_events
    where run_id = $1 and family = 'run'`,
};

/** Undefined when the run has said no event of that number yet: what it will say is new to the reader. */
export async function findJoinPoint(
  database: Database,
  runId: string,
  afterNumber: number,
): Promise<JoinPoint | undefined> {
  const [row] = await database.query<{ first_seq: number | null; last_number: number | null }>(
    runEventRange,
    [runId],
  );
  if (row?.first_seq === undefined || row.first_seq === null) {
    return afterNumber < 0 ? { afterSeq: 0 } : undefined;
  }
  if (afterNumber > Number(row.last_number)) return undefined;
  return { afterSeq: Number(row.first_seq) - 1, afterNumber };
}
