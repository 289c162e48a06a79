import type { Database } from "../../platform/db/database.ts";
import { findRunsOf, handBackRuns } from "../runs/run-store.ts";
import { handedBack, judgeBlocked } from "./run-hand-back.ts";

/**
 * Gives back the runs of a process whose event loop is blocked, before it ends: the one that blocked it, where that
 * is known, and its neighbours, whose attempts do not count.
 */
export async function handBackBlocked(database: Database, processId: string, culprit: string): Promise<void> {
  const runs = await findRunsOf(database, processId);
  const reasons = judgeBlocked(
    runs.map((run) => run.run_id),
    culprit,
  );
  if (runs.length === 0) return;
  await handBackRuns(
    database,
    runs.map((run, index) => handedBack(run, reasons[index]!)),
    processId,
  );
}
