import type { Database } from "../../../../platform/db/database.ts";
import type { Logger } from "../../../../platform/logger.ts";
import { cutoffOf, type Retention } from "../../../runs/retention.ts";
import { monthOfName, monthsToPrepare } from "../partitions/partition.ts";
import type { Partitions } from "../partitions/partition-service.ts";
import { dropPartition, listPartitions } from "../partitions/partition-store.ts";
import { isPartitionExpired } from "./expired-partition.ts";
import { deletePartitionCompanions, deleteRunsBefore, listPartitionProjects } from "./run-removal-store.ts";

const batch = 5_000;

/** Drops the partitions whose runs are all past their time, then deletes what is left of such runs row by row. */
export async function applyRetention(
  options: { database: Database; logger: Logger; partitions: Partitions },
  retentions: readonly Retention[],
  now: Date,
  signal: AbortSignal,
): Promise<void> {
  const { database, logger, partitions } = options;
  if (retentions.length === 0) return;
  const byProject = new Map(retentions.map((each) => [each.project_id, each]));
  const prepared = new Set(monthsToPrepare(now).map((month) => month.name));
  for (const name of await listPartitions(database.sql)) {
    signal.throwIfAborted();
    const month = monthOfName(name);
    if (!month || prepared.has(name)) continue;
    if (!isPartitionExpired(name, await listPartitionProjects(database.sql, name), byProject, now)) continue;
    await database.transaction(async (tx) => {
      await deletePartitionCompanions(tx, month);
      await dropPartition(tx, name);
    });
    partitions.forget();
    logger.info({ partition: name }, "trace partition was dropped: all its runs have passed their retention");
  }
  for (const retention of retentions) {
    const before = cutoffOf(retention, now);
    const place = { workspaceId: retention.workspace_id, projectId: retention.project_id };
    for (;;) {
      signal.throwIfAborted();
      if ((await deleteRunsBefore(database.sql, place, before, batch)) < batch) break;
    }
  }
}
