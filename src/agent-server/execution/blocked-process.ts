import type { Database } from "../../platform/db/database.ts";
import { findRunsOf, handBackRuns } from "../runs/run-store.ts";
import { handBackRules, isExcused, judgeBlocked } from "./run-hand-back.ts";

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
    runs.map((run, index) => ({
      runId: run.run_id,
      attempt: run.attempt,
      excused: isExcused(reasons[index]!, run.excused),
      alone: handBackRules[reasons[index]!].alone ?? null,
    })),
    processId,
  );
}
