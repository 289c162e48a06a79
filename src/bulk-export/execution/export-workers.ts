import type { Worker } from "../../platform/areas/area.ts";
import type { Clock } from "../../platform/clock.ts";
import type { Database } from "../../platform/db/database.ts";
import { AppError } from "../../platform/errors.ts";
import { type JobContext, type JobHandler, JobWorker } from "../../platform/jobs/job-worker.ts";
import type { Logger } from "../../platform/logger.ts";
import { failExport } from "../exports/export-ending.ts";
import { finishJobKind, partitionJobKind, planJobKind } from "../exports/export-jobs.ts";
import type { ExportLimits } from "../exports/export-limits.ts";
import type { ExportFinisher } from "./export-finisher.ts";
import type { ExportPlanner } from "./export-planner.ts";
import type { PartitionExecutor } from "./partition-executor.ts";
import { isWorthRetrying } from "./partition-failure.ts";

export type ExportWorkersOptions = {
  database: Database;
  clock: Clock;
  logger: Logger;
  limits: ExportLimits;
  leaseMs: number;
  planner: ExportPlanner;
  finisher: ExportFinisher;
  executor: PartitionExecutor;
  /** Something may be able to start now. */
  wake(): void;
};

const finishRetries = 20;

/** Two separate workers: exports last for hours and must not delay other jobs, nor one another's steps. */
export function createExportWorkers(options: ExportWorkersOptions): Worker[] {
  const { database, clock, logger, limits, leaseMs, planner, finisher, executor, wake } = options;
  const common = {
    database,
    clock,
    logger,
    leaseMs,
    heartbeatMs: Math.floor(leaseMs / 3),
    backoff: { firstMs: limits.retryDelayMs, maxMs: limits.retryDelayMs },
  };
  const steps = new JobWorker({
    ...common,
    concurrency: 2,
    handlers: {
      [planJobKind]: stepHandler(options, (exportId) => planner.plan(exportId)),
      [finishJobKind]: stepHandler(options, (exportId, job) => finisher.finish(exportId, job)),
    },
  });
  const partitions = new JobWorker({
    ...common,
    concurrency: limits.partitionsAtOnce,
    handlers: {
      [partitionJobKind]: async (job) => {
        await executor.execute((job.job.payload as { runId: string }).runId, job);
        // The export may have ended with it.
        wake();
      },
    },
  });
  return [
    {
      name: "bulk-export.steps",
      start: () => steps.start(),
      stop: ({ graceMs }) => steps.stop({ graceMs }),
    },
    {
      name: "bulk-export.partitions",
      start: () => partitions.start(),
      // Another process continues the partition from its cursor: there is nothing to wait for.
      stop: () => partitions.stop({ graceMs: 0 }),
    },
  ];
}

/** Ends the export when a step of its own cannot be done, instead of leaving it running for ever. */
function stepHandler(
  { database, clock, logger, wake }: ExportWorkersOptions,
  work: (exportId: string, job: JobContext) => Promise<void>,
): JobHandler {
  return async (job) => {
    const { exportId } = job.job.payload as { exportId: string };
    try {
      await work(exportId, job);
    } catch (error) {
      job.signal.throwIfAborted();
      const retryable = error instanceof AppError && error.retryable && isWorthRetrying(error);
      if (retryable && job.attempt <= finishRetries) throw error;
      logger.error({ err: error, export_id: exportId }, "bulk export failed");
      await failExport({ database, clock }, exportId, error);
    }
    wake();
  };
}
