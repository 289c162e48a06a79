import type { Area } from "../platform/area.ts";
import type { Clock } from "../platform/clock.ts";
import type { Database } from "../platform/db/database.ts";
import type { SecretBox } from "../platform/encryption/secret-box.ts";
import { AppError } from "../platform/errors.ts";
import type { Caller } from "../platform/http/access/caller.ts";
import { createJobWorker, type JobContext, type JobHandler } from "../platform/jobs/job-worker.ts";
import type { Logger } from "../platform/logger.ts";
import { createNetworkGuard } from "../platform/network/network-guard.ts";
import { destinationRoutes } from "./destinations/destination-routes.ts";
import { createDestinationService } from "./destinations/destination-service.ts";
import type { ExportLimits } from "./export-limits.ts";
import { failExport } from "./exports/export-ending.ts";
import { createExportFinisher } from "./exports/export-finisher.ts";
import { finishJobKind, partitionJobKind, planJobKind } from "./exports/export-jobs.ts";
import { createExportPlanner } from "./exports/export-planner.ts";
import { createPreviewService } from "./exports/export-preview.ts";
import { exportRoutes } from "./exports/export-routes.ts";
import { createExportService } from "./exports/export-service.ts";
import { exportPreviewRoutes } from "./exports/preview-routes.ts";
import { createPartitionExecutor } from "./partitions/partition-executor.ts";
import { isWorthRetrying } from "./partitions/partition-failure.ts";
import { partitionRoutes } from "./partitions/partition-routes.ts";
import { defaultFileLimits, type FileLimits } from "./partitions/partition-task.ts";
import { createPartitionThreads } from "./partitions/partition-threads.ts";
import type { RunSource } from "./partitions/run-source.ts";
import { createScheduleWorker } from "./schedules/schedule-worker.ts";

export type BulkExportOptions = {
  database: Database;
  /** The same database, for the threads that read it. */
  databaseUrl: string;
  clock: Clock;
  logger: Logger;
  secretBox: SecretBox;
  source: RunSource;
  limits: ExportLimits;
  allowPrivateAddresses: boolean;
  /** Destinations without credentials use those of the machine. */
  ambientCredentials: boolean;
  /** Whether this organization's plan has no exports. */
  needsPaidPlan(organizationId: string): Promise<boolean>;
  fileLimits?: FileLimits;
  /** How long a partition stays with a process that died. */
  leaseMs?: number;
  /** The longest time without looking after schedules and waiting exports. */
  heartbeatMs?: number;
};

export type BulkExportArea = Area & {
  /** Looks after schedules and waiting exports now. */
  tick(): Promise<void>;
};

const finishRetries = 20;

/** Area B, exports: traces to Parquet files in somebody's bucket, once or on a schedule. */
export function createBulkExport(options: BulkExportOptions): BulkExportArea {
  const { database, clock, logger, limits, source, allowPrivateAddresses, leaseMs = 30_000 } = options;
  const network = createNetworkGuard({ allowPrivateAddresses });
  const requirePlan = async (caller: Caller) => {
    if (await options.needsPaidPlan(caller.organizationId)) throw planRequired();
  };
  const destinations = createDestinationService({
    database,
    clock,
    logger,
    secretBox: options.secretBox,
    network,
    ambientCredentials: options.ambientCredentials,
    checkTimeoutMs: limits.checkTimeoutMs,
  });
  const schedules = createScheduleWorker({
    database,
    clock,
    logger,
    limits,
    heartbeatMs: options.heartbeatMs ?? 30_000,
  });
  const wake = schedules.announce;
  const service = createExportService({ database, clock, limits, source, requirePlan, wake });
  const threads = createPartitionThreads();
  const planner = createExportPlanner({ database, clock, limits, source });
  const finisher = createExportFinisher({ database, clock, limits, network, destinations });
  const executor = createPartitionExecutor({
    database,
    databaseUrl: options.databaseUrl,
    clock,
    logger,
    limits,
    fileLimits: options.fileLimits ?? defaultFileLimits,
    network,
    allowPrivateAddresses,
    destinations,
    source,
    threads,
  });

  /** Ends the export when a step of its own cannot be done, instead of leaving it running for ever. */
  const step =
    (work: (exportId: string, job: JobContext) => Promise<void>): JobHandler =>
    async (job) => {
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

  const common = { database, clock, logger, leaseMs, heartbeatMs: Math.floor(leaseMs / 3) };
  const backoff = { firstMs: limits.retryDelayMs, maxMs: limits.retryDelayMs };
  // Two workers of its own: exports last for hours and must not hold up anybody's jobs, nor one another's steps.
  const steps = createJobWorker({
    ...common,
    backoff,
    concurrency: 2,
    handlers: { [planJobKind]: step(planner.plan), [finishJobKind]: step(finisher.finish) },
  });
  const partitions = createJobWorker({
    ...common,
    backoff,
    concurrency: limits.partitionsAtOnce,
    handlers: {
      [partitionJobKind]: async (job) => {
        await executor.execute((job.job.payload as { runId: string }).runId, job);
        // The export may have ended with it.
        wake();
      },
    },
  });

  return {
    routes: [
      ...destinationRoutes(destinations, { requirePlan }),
      ...partitionRoutes(service),
      ...exportPreviewRoutes(createPreviewService({ database, clock, limits, source })),
      ...exportRoutes(service),
    ],
    jobHandlers: {},
    recurringJobs: [],
    workers: [
      { name: "bulk-export.steps", ...steps },
      // A partition goes on elsewhere from its cursor: there is nothing to wait for.
      {
        name: "bulk-export.partitions",
        start: partitions.start,
        stop: () => partitions.stop({ graceMs: 0 }),
      },
      schedules,
    ],
    start: async () => {},
    stop: () => threads.stop(),
    tick: () => schedules.tick(),
  };
}

function planRequired(): AppError {
  return new AppError({
    code: "bulk_export.plan_required",
    kind: "forbidden",
    message: "Bulk exports need a paid plan. Upgrade the organization's plan to use them.",
  });
}
