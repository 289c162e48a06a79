import type { CancelAction, ClaimedRun } from "./run.ts";
import type { RunResult } from "./run-end.ts";

/** The worker that executes the runs of this process. */
export type RunHolder = {
  leaseSeconds: number;
  /** Room for a run that is about to be inserted as already claimed. */
  reserve(): boolean;
  release(): void;
  /** Starts a run this process holds the lease of. */
  begin(run: ClaimedRun): Promise<RunResult | null>;
  /** The end of a run of this process, or undefined when it runs elsewhere or not at all. */
  resultOf(runId: string): Promise<RunResult | null> | undefined;
  /** Stops a run if it is held here, and answers whether it is. */
  cancel(runId: string, action: CancelAction): boolean;
  /** Something waits in the queue that this process may take. */
  wake(): void;
};
