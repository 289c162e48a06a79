import type { Clock } from "../../platform/clock.ts";
import type { Database } from "../../platform/db/database.ts";
import { deleteParkedBefore, listOvertaken, listOvertakenSpending } from "./parked-store.ts";
import type { RunWriter } from "./run-writer.ts";

const keepDays = 7;
const batch = 500;

/**
 * Applies patches that were parked at the same moment as their run was written, and deletes those that have waited for
 * a week. An empty patch is enough: writing a run applies the patches that wait for it.
 */
export async function foldOvertaken(options: {
  database: Database;
  clock: Clock;
  writer: RunWriter;
}): Promise<void> {
  const { database, clock, writer } = options;
  const now = clock.now();
  for (const { run_id, workspace_id } of await listOvertaken(database.sql, batch)) {
    await writer.add({
      kind: "patch",
      workspaceId: workspace_id,
      id: run_id,
      projectId: undefined,
      receivedAt: now.toISOString(),
      fields: {},
      payloads: {},
      facts: { terms: [] },
      bytes: 0,
    });
  }
  await writer.settle(await listOvertakenSpending(database.sql, batch));
  await deleteParkedBefore(database.sql, new Date(now.getTime() - keepDays * 86_400_000));
}
