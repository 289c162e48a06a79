/**
 * One entry of a thread's event log.
 * - `run`: what the stream modes of a run say, with the event name of the wire
 * - `protocol`: the streaming protocol's events
 * - `control`: `end`, the last thing a run writes
 */
export type EventFamily = "run" | "protocol" | "control";

export type ThreadEvent = {
  threadId: string;
  seq: number;
  runId: string;
  family: EventFamily;
  /** SSE event name, protocol method, or `end`. */
  name: string;
  /** Checkpoint namespace joined by `|`; empty at the root. */
  namespace: string;
  /** JSON text, ready for the wire. */
  data: string;
};

/** What the end of a run says to those who wait for it. */
export type RunEnd = { status: string };
