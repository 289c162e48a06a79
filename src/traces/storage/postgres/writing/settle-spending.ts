import type { Database } from "../../../../platform/db/database.ts";
import { isContentionError } from "../../../../platform/db/database-errors.ts";
import type { RunKey } from "../../../runs/stored-run.ts";
import { planSpending } from "../../../runs/usage-plan.ts";
import type { Share } from "../../../usage/usage-rollup.ts";
import { writeRunChanges } from "./run-store.ts";
import { holdSpenders, listOvertakenSpenders, takeWaitingShares } from "./spender-store.ts";

const maxRounds = 20;

/**
 * A run's share for a parent that is not stored yet waits in a separate table. Both the process that stores a run and
 * the one that adds a share look there after their commit, so the later of the two finds the other. Shares that are
 * left after some rounds, because new ones keep coming, are found by the sweep.
 */
export async function settleSpending(database: Database, keys: readonly RunKey[]): Promise<void> {
  let asked = keys;
  for (let round = 0; round < maxRounds && asked.length > 0; round++) {
    const overtaken = await listOvertakenSpenders(database, asked);
    if (overtaken.length === 0) return;
    try {
      asked = [...overtaken, ...(await addWaiting(database, overtaken))];
    } catch (error) {
      if (!isContentionError(error)) throw error;
    }
  }
}

/** Returns what remains for runs that are not stored yet. */
function addWaiting(database: Database, keys: readonly RunKey[]): Promise<Share[]> {
  return database.transaction(async (tx) => {
    const held = await holdSpenders(tx, keys);
    const arrived = await takeWaitingShares(tx, held);
    const spending = planSpending([], held, arrived);
    await writeRunChanges(tx, { runs: [], park: [], unpark: [], moved: [] }, spending);
    return spending.shares;
  });
}
