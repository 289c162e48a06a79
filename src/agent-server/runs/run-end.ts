import {
  type EventFamily,
  type EventNumbers,
  type ThreadEvent,
  takeNumbers,
} from "../delivery/thread-event.ts";
import type { ClaimedRun, RunOutcome } from "./run.ts";

/** An event without a number yet. */
export type UnnumberedEvent = { family: EventFamily; name: string; namespace: string; data: string };

export type RunResult = {
  outcome: RunOutcome;
  /** JSON text of the last values, with `__interrupt__` when the run stopped at one. */
  resultJson: string;
  /** Numbered already, and kept back because nobody reads them: committed with the end. */
  unwritten: readonly ThreadEvent[];
  /** What invites an answer: committed together with the status that lets the answer in. */
  held: readonly UnnumberedEvent[];
  /** The last event for clients of the streaming protocol; null where there are none. */
  terminal: { name: string; namespace: string; data: string } | null;
  /** The last numbers given out before those above. */
  numbers: EventNumbers;
};

type LastWords = Pick<RunResult, "outcome" | "unwritten" | "held" | "terminal" | "numbers">;

/** The last events of a run in its log, committed together with its status. */
export function lastEvents(
  run: Pick<ClaimedRun, "run_id" | "thread_id">,
  { outcome, unwritten, held, terminal, numbers }: LastWords,
): { events: ThreadEvent[]; numbers: EventNumbers } {
  const end = JSON.stringify({ status: outcome.status, error: outcome.error });
  const last = { ...numbers };
  const unnumbered: UnnumberedEvent[] = [
    ...held,
    ...(terminal ? [{ family: "protocol" as const, ...terminal }] : []),
    { family: "control", name: "end", namespace: "", data: end },
  ];
  const numbered = unnumbered.map((event) => ({
    threadId: run.thread_id,
    runId: run.run_id,
    ...takeNumbers(last, event.family),
    ...event,
  }));
  return { events: [...unwritten, ...numbered], numbers: last };
}
