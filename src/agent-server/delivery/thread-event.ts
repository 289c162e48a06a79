/**
 * One entry of a thread's event log.
 * - `run`: events of a run's stream modes, with the event name of the wire
 * - `protocol`: the streaming protocol's events
 * - `control`: `end`, the last thing a run writes
 */
export type EventFamily = "run" | "protocol" | "control";

export type ThreadEvent = {
  threadId: string;
  /** Its place in the log of the thread. */
  seq: number;
  /**
   * What clients know it by: an event of the streaming protocol by a number from 1 per thread, one of a run's own
   * stream by a number from 0 per run, both without gaps. The end of a run has none.
   */
  number: number;
  runId: string;
  family: EventFamily;
  /** SSE event name, protocol method, or `end`. */
  name: string;
  /** Checkpoint namespace joined by `|`; empty at the root. */
  namespace: string;
  /** JSON text, ready for the wire. */
  data: string;
};

/** The numbers given out last: places in the thread's log, events of the protocol, events of the run's own stream. */
export type EventNumbers = { seq: number; protocol: number; run: number };

/** Gives an event its place and its number. */
export function takeNumbers(last: EventNumbers, family: EventFamily): { seq: number; number: number } {
  last.seq += 1;
  if (family === "control") return { seq: last.seq, number: last.seq };
  last[family] += 1;
  return { seq: last.seq, number: last[family] };
}

/** How a run can end. */
export type EndStatus = "success" | "error" | "timeout" | "interrupted";

/** What clients that wait for a run get when it ends. */
export type RunEnd = { status: string };
