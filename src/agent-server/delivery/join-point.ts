import type { Database, Statement } from "../../platform/db/database.ts";
import { logEndOf } from "./event-store.ts";

/** Where in a thread's log the reader of a run begins. */
export type JoinPoint = {
  afterSeq: number;
  /** Events of the run up to this number are known to it already. */
  afterNumber?: number;
};

/**
 * Where a joining reader starts: after the id it names, at the beginning for `-1` or `-`, and otherwise, also when
 * the run has not come to that id yet, with what comes from now on.
 */
export async function joinPointOf(
  database: Database,
  run: { run_id: string; thread_id: string },
  lastEventId: string | undefined,
): Promise<JoinPoint> {
  const number = readLastEventId(lastEventId);
  const found = number === undefined ? undefined : await findJoinPoint(database, run.run_id, number);
  return found ?? { afterSeq: (await logEndOf(database, run.thread_id)).seq };
}

/** The number a client saw last: -1 for one that saw none; undefined when it names none. */
function readLastEventId(text: string | undefined): number | undefined {
  if (text === "-" || text === "-1") return -1;
  return text !== undefined && /^\d{1,15}$/.test(text) ? Number(text) : undefined;
}

export const runEventRange: Statement = {
  name: "thread_events_run_range_1",
  text: `select min(seq) as first_seq, max(coalesce(number, seq)) as last_number from thread_events
    where run_id = $1 and family = 'run'`,
};

/** Undefined when the run has no event of that number yet: what follows is new to the reader. */
async function findJoinPoint(
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
