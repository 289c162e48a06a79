import type { EventFamily, ThreadEvent } from "../streaming/thread-event.ts";
import type { ClaimedRun, RunOutcome } from "./run.ts";

/** An event without a number yet. */
export type UnnumberedEvent = { family: EventFamily; name: string; namespace: string; data: string };

export type RunResult = {
  outcome: RunOutcome;
  /** JSON text of the last values, with `__interrupt__` when the run stopped at one. */
  resultJson: string;
  /** What invites an answer: told together with the status that lets the answer in. */
  held: readonly UnnumberedEvent[];
  /** What clients of the streaming protocol hear last; null where there are none. */
  terminal: { name: string; namespace: string; data: string } | null;
  /** The number of the last event, which follows those above. */
  lastSeq: number;
};

/** How many numbers the last events of a run take. */
export function countLastEvents({ held, terminal }: Pick<RunResult, "held" | "terminal">): number {
  return held.length + (terminal ? 1 : 0) + 1;
}

/** The end of a run as its log tells it, committed together with its status. */
export function lastEvents(
  run: Pick<ClaimedRun, "run_id" | "thread_id">,
  { outcome, held, terminal, lastSeq }: Pick<RunResult, "outcome" | "held" | "terminal" | "lastSeq">,
): ThreadEvent[] {
  const end = JSON.stringify({ status: outcome.status, error: outcome.error });
  const events: UnnumberedEvent[] = [
    ...held,
    ...(terminal ? [{ family: "protocol" as const, ...terminal }] : []),
    { family: "control", name: "end", namespace: "", data: end },
  ];
  const first = lastSeq - events.length + 1;
  return events.map((event, index) => ({
    threadId: run.thread_id,
    runId: run.run_id,
    seq: first + index,
    ...event,
  }));
}
