import type { Database } from "../../platform/db/database.ts";
import { isContentionError } from "../../platform/db/database-errors.ts";
import { type RunKey, writeRunChanges } from "../runs/run-store.ts";
import { holdSpenders, listOvertakenSpenders, takeWaitingShares } from "../runs/spender-store.ts";
import { planSpending } from "../runs/usage-plan.ts";
import type { Share } from "../usage/usage-rollup.ts";

const maxRounds = 20;

/**
 * A run's share for a parent that is not there yet waits in a table of its own. Whoever stores a run asks there after
 * its commit, and so does whoever leaves a share: whichever comes second finds the other. What is left after some
 * rounds, because others keep coming in between, is found by the sweep.
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

/** Answers what is left for runs that are not there yet. */
function addWaiting(database: Database, keys: readonly RunKey[]): Promise<Share[]> {
  return database.transaction(async (tx) => {
    const held = await holdSpenders(tx, keys);
    const arrived = await takeWaitingShares(tx, held);
    const spending = planSpending([], held, arrived);
    await writeRunChanges(tx, { runs: [], park: [], unpark: [], moved: [] }, spending);
    return spending.shares;
  });
}
