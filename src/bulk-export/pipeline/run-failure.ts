import { isBlobFailure } from "../../platform/blob/s3-failure.ts";
import type { Clock } from "../../platform/clock.ts";
import type { Database } from "../../platform/db/database.ts";
import { AppError, errorMessage } from "../../platform/errors.ts";
import type { JobContext } from "../../platform/jobs/job-worker.ts";
import type { ExportLimits } from "../export-limits.ts";
import type { ExportRun } from "../exports/export.ts";
import { endExport, failureCode } from "../exports/export-ending.ts";
import { enqueueRun } from "../exports/export-jobs.ts";
import { lockExport } from "../exports/export-store.ts";
import { changeRun } from "../exports/run-store.ts";

export type RunFailureInput = {
  database: Database;
  clock: Clock;
  limits: ExportLimits;
  run: ExportRun;
  job: JobContext;
  error: unknown;
  /** The same job goes on with it at once, instead of another one after the delay. */
  goOn?: boolean;
};

/** What somebody has to mend (the bucket, the encryption key) is not tried again; all else is, a number of times. */
export function isWorthRetrying(error: unknown): boolean {
  if (isBlobFailure(error)) return error.retryable;
  return !(error instanceof AppError && error.code.startsWith("secret."));
}

/**
 * Writes down what stopped an attempt, then either queues the next one or ends run and export. Answers the run as
 * it goes on, undefined when it does not.
 */
export async function recordFailure(input: RunFailureInput): Promise<ExportRun | undefined> {
  const { database, clock, limits, run, job, error } = input;
  const now = clock.now();
  const message = errorMessage(error).replaceAll("\u0000", "\uFFFD").toWellFormed().slice(0, 4_000);
  const errors = { ...run.errors, [`retry_${run.retry_number}`]: message };
  const again = isWorthRetrying(error) && run.retry_number < limits.retries;
  let kept: ExportRun | undefined;
  await database.transaction(async (tx) => {
    await lockExport(tx, run.bulk_export_id);
    await job.fence(tx);
    if (!again) {
      const timedOut = error instanceof AppError && error.code === "bulk_export.run_timeout";
      const status = timedOut ? "TIMEDOUT" : "FAILED";
      await changeRun(tx, run.id, { status, errors, finished_at: now, job_id: null }, now);
      const reason = `The run of ${run.start_time} for project ${run.session_id} failed: ${message}`;
      await endExport(tx, {
        exportId: run.bulk_export_id,
        status: "FAILED",
        failure: { code: failureCode(error), message: reason },
        now,
        exceptJob: job.job.id,
      });
      return;
    }
    const change = { errors, retry_number: run.retry_number + 1 };
    if (!(await changeRun(tx, run.id, change, now))) return;
    kept = { ...run, ...change };
    if (input.goOn) return;
    await enqueueRun(tx, { runId: run.id, now, runAt: new Date(now.getTime() + limits.retryDelayMs) });
  });
  return kept;
}
