import type { ThreadEvent } from "../delivery/thread-event.ts";
import type { ClaimedRun } from "./run.ts";

/** What the first event of an attempt says, as JSON text. */
export function beginningOf({ run_id, attempt }: Pick<ClaimedRun, "run_id" | "attempt">): string {
  return JSON.stringify({ run_id, attempt });
}

/** The event that is committed with a run that starts at once. */
export function firstEvent(
  run: Pick<ClaimedRun, "run_id" | "thread_id" | "attempt" | "last_seq">,
): ThreadEvent {
  return {
    threadId: run.thread_id,
    seq: run.last_seq + 1,
    number: 0,
    runId: run.run_id,
    family: "run",
    name: "metadata",
    namespace: "",
    data: beginningOf(run),
  };
}
