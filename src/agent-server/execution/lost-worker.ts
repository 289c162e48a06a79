import type { Database } from "../../platform/db/database.ts";
import { errorMessage } from "../../platform/errors.ts";
import type { Logger } from "../../platform/logger.ts";
import { maxAttempts } from "../runs/run.ts";
import { findRunsOf, type HandedBackRun, handBackRuns } from "../runs/run-store.ts";

export type LostWorkerGround = {
  database: Database;
  logger: Logger;
  /** Called when runs are in the queue again. */
  onGivenBack(): void;
  /** From now on nobody deals runs to it. */
  forget(processId: string): Promise<void>;
};

/**
 * Starts the runs of a process again that is known to be gone, without waiting for their leases. What cannot be given
 * back, because the database is away too, is found at the end of its lease.
 */
export async function giveBackRunsOf(processId: string, ground: LostWorkerGround): Promise<void> {
  const { database, logger } = ground;
  try {
    const runs = await findRunsOf(database, processId);
    if (runs.length > 0) {
      await handBackRuns(database, runs.map(lostAttempt), processId);
      logger.warn({ runs: runs.map(({ run_id }) => run_id) }, "runs of a lost process are started again");
      ground.onGivenBack();
    }
    await ground.forget(processId);
  } catch (error) {
    logger.warn({ reason: errorMessage(error) }, "runs of a lost process wait for the end of their leases");
  }
}

/**
 * The attempt counts: the run may have ended the process. The last one has a process to itself, so that the neighbours
 * of such a run do not share its end.
 */
function lostAttempt(run: { run_id: string; attempt: number; excused: number }): HandedBackRun {
  const left = maxAttempts - (run.attempt - run.excused);
  return { runId: run.run_id, attempt: run.attempt, excused: false, alone: left === 1 ? true : null };
}
