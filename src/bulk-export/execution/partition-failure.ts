import { isBlobFailure } from "../../platform/blob/s3-failure.ts";
import type { Clock } from "../../platform/clock.ts";
import type { Database } from "../../platform/db/database.ts";
import { AppError, errorMessage } from "../../platform/errors.ts";
import type { JobContext } from "../../platform/jobs/job-worker.ts";
import { endExport, failureCode } from "../exports/export-ending.ts";
import { enqueuePartition } from "../exports/export-jobs.ts";
import type { ExportLimits } from "../exports/export-limits.ts";
import { lockExport } from "../exports/export-store.ts";
import type { Partition } from "../partitions/partition.ts";
import { changePartition } from "../partitions/partition-store.ts";

export type PartitionFailureInput = {
  database: Database;
  clock: Clock;
  limits: ExportLimits;
  partition: Partition;
  job: JobContext;
  error: unknown;
  /** The same job continues with it at once, instead of another one after the delay. */
  goOn?: boolean;
};

/**
 * Failures that a user has to fix (the bucket, the encryption key, a right) are not retried; all others are, a number of times.
 */
export function isWorthRetrying(error: unknown): boolean {
  if (isBlobFailure(error)) return error.retryable;
  return !(error instanceof AppError && (error.kind === "forbidden" || error.code.startsWith("secret.")));
}

/**
 * Records what stopped an attempt, then either queues the next one or ends partition and export. Returns the
 * partition as it continues, undefined when it does not.
 */
export async function recordFailure(input: PartitionFailureInput): Promise<Partition | undefined> {
  const { database, clock, limits, partition, job, error } = input;
  const now = clock.now();
  const message = errorMessage(error).replaceAll("\u0000", "\uFFFD").toWellFormed().slice(0, 4_000);
  const errors = { ...partition.errors, [`retry_${partition.retry_number}`]: message };
  const again = isWorthRetrying(error) && partition.retry_number < limits.retries;
  let kept: Partition | undefined;
  await database.transaction(async (tx) => {
    await lockExport(tx, partition.bulk_export_id);
    await job.fence(tx);
    if (!again) {
      const timedOut = error instanceof AppError && error.code === "bulk_export.run_timeout";
      const status = timedOut ? "TIMEDOUT" : "FAILED";
      await changePartition(tx, partition.id, { status, errors, finished_at: now, job_id: null }, now);
      const from = `${partition.start_time.slice(0, 16).replace("T", " ")} UTC`;
      const reason = `Exporting the runs from ${from} of project ${partition.session_id} failed: ${message}`;
      await endExport(tx, {
        exportId: partition.bulk_export_id,
        status: "FAILED",
        failure: { code: failureCode(error), message: reason },
        now,
        exceptJob: job.job.id,
      });
      return;
    }
    const change = { errors, retry_number: partition.retry_number + 1 };
    if (!(await changePartition(tx, partition.id, change, now))) return;
    kept = { ...partition, ...change };
    if (input.goOn) return;
    await enqueuePartition(tx, {
      partitionId: partition.id,
      now,
      runAt: new Date(now.getTime() + limits.retryDelayMs),
    });
  });
  return kept;
}
