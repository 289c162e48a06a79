import type { Database } from "../../platform/db/database.ts";
import { errorMessage } from "../../platform/errors.ts";
import type { Logger } from "../../platform/logger.ts";
import { findRunsOf, handBackRuns } from "../runs/run-store.ts";
import { handedBack } from "./run-hand-back.ts";

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
      const lost = runs.map((run) => handedBack(run, "process_lost"));
      await handBackRuns(database, lost, processId);
      logger.warn({ runs: runs.map(({ run_id }) => run_id) }, "runs of a lost process are started again");
      ground.onGivenBack();
    }
    await ground.forget(processId);
  } catch (error) {
    logger.warn({ reason: errorMessage(error) }, "runs of a lost process wait for the end of their leases");
  }
}
