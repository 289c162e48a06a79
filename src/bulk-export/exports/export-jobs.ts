import type { Sql } from "../../platform/db/database.ts";
import { AppError } from "../../platform/errors.ts";
import { cancelJob, enqueue } from "../../platform/jobs/job-queue.ts";
import { changePartition, countUnfinishedPartitions, nextPartitions } from "../partitions/partition-store.ts";

export const planJobKind = "bulk_export.plan";
// Jobs are stored: kind and payload keep the word run, so that those queued by an older process are understood.
export const partitionJobKind = "bulk_export.run";
export const finishJobKind = "bulk_export.finish";

/** An interrupted worker's jobs go on elsewhere; how often is counted on the partition, not here. */
const maxAttempts = 1_000;

export async function enqueuePlan(tx: Sql, exportId: string): Promise<void> {
  await enqueue(tx, { kind: planJobKind, payload: { exportId }, idempotencyKey: exportId, maxAttempts });
}

/** Keeps as many partitions of an export queued as may be, and the end when there are none left. */
export async function enqueueNext(
  tx: Sql,
  input: { exportId: string; atOnce: number; now: Date },
): Promise<void> {
  for (const partitionId of await nextPartitions(tx, input.exportId, input.atOnce)) {
    await enqueuePartition(tx, { partitionId, now: input.now });
  }
  if ((await countUnfinishedPartitions(tx, input.exportId)) > 0) return;
  await enqueue(tx, {
    kind: finishJobKind,
    payload: { exportId: input.exportId },
    idempotencyKey: input.exportId,
    maxAttempts,
  });
}

export async function enqueuePartition(
  tx: Sql,
  input: { partitionId: string; now: Date; runAt?: Date },
): Promise<void> {
  const { id } = await enqueue(tx, {
    kind: partitionJobKind,
    payload: { runId: input.partitionId },
    maxAttempts,
    ...(input.runAt ? { runAt: input.runAt } : {}),
  });
  await changePartition(tx, input.partitionId, { job_id: id }, input.now);
}

/** Stops the work on them, in any process. */
export async function cancelJobs(tx: Sql, ids: readonly string[]): Promise<void> {
  for (const id of ids) {
    await cancelJob(tx, id).catch((error: unknown) => {
      // One that just ended needs no stopping.
      if (!(error instanceof AppError && (error.code === "job.finished" || error.code === "job.not_found"))) {
        throw error;
      }
    });
  }
}
