import type { Area } from "../platform/areas/area.ts";
import type { Clock } from "../platform/clock.ts";
import type { Database } from "../platform/db/database.ts";
import type { SecretBox } from "../platform/encryption/secret-box.ts";
import { AppError } from "../platform/errors.ts";
import type { Caller } from "../platform/http/access/caller.ts";
import type { Logger } from "../platform/logger.ts";
import { NetworkGuard } from "../platform/network/network-guard.ts";
import { destinationChangeRoutes } from "./destinations/destination-change-routes.ts";
import { destinationRoutes } from "./destinations/destination-routes.ts";
import { DestinationService } from "./destinations/destination-service.ts";
import { ExportFinisher } from "./execution/export-finisher.ts";
import { ExportPlanner } from "./execution/export-planner.ts";
import { createExportWorkers } from "./execution/export-workers.ts";
import { PartitionExecutor } from "./execution/partition-executor.ts";
import type { ExportLimits } from "./exports/export-limits.ts";
import { PreviewService } from "./exports/export-preview.ts";
import { exportRoutes } from "./exports/export-routes.ts";
import { ExportService } from "./exports/export-service.ts";
import { FileLinks } from "./exports/file-links.ts";
import { fileRoutes } from "./exports/file-routes.ts";
import { partitionRoutes } from "./exports/partition-routes.ts";
import { exportPreviewRoutes } from "./exports/preview-routes.ts";
import { defaultFileLimits, type FileLimits } from "./partitions/partition-task.ts";
import { PartitionThreads } from "./partitions/partition-threads.ts";
import type { RunSource } from "./partitions/run-source.ts";
import { ScheduleWorker } from "./schedules/schedule-worker.ts";

export type BulkExportOptions = {
  database: Database;
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
  /** Checks schedules and waiting exports now. */
  tick(): Promise<void>;
};

/** Area B, exports: traces to Parquet files in a user's bucket, once or on a schedule. */
export function createBulkExport(options: BulkExportOptions): BulkExportArea {
  const { database, clock, logger, limits, source, allowPrivateAddresses, leaseMs = 30_000 } = options;
  const network = new NetworkGuard({ allowPrivateAddresses });
  const requirePlan = async (caller: Caller) => {
    if (await options.needsPaidPlan(caller.organizationId)) throw planRequired();
  };
  const destinations = new DestinationService({
    database,
    clock,
    logger,
    secretBox: options.secretBox,
    network,
    ambientCredentials: options.ambientCredentials,
    checkTimeoutMs: limits.checkTimeoutMs,
  });
  const schedules = new ScheduleWorker({
    database,
    clock,
    logger,
    limits,
    heartbeatMs: options.heartbeatMs ?? 30_000,
  });
  const wake = () => schedules.announce();
  const service = new ExportService({ database, clock, limits, source, requirePlan, wake });
  const links = new FileLinks({ clock, limits, network, destinations, exports: service });
  const preview = new PreviewService({ clock, limits, source });
  const threads = new PartitionThreads();
  const executor = new PartitionExecutor({
    database,
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
  const workers = createExportWorkers({
    database,
    clock,
    logger,
    limits,
    leaseMs,
    planner: new ExportPlanner({ database, clock, limits, source }),
    finisher: new ExportFinisher({ database, clock, limits, network, destinations }),
    executor,
    wake,
  });

  return {
    routes: [
      ...destinationRoutes(destinations),
      ...destinationChangeRoutes(destinations, { requirePlan }),
      ...partitionRoutes(service),
      ...fileRoutes(service, links),
      ...exportPreviewRoutes(preview),
      ...exportRoutes(service),
    ],
    jobHandlers: {},
    recurringJobs: [],
    workers: [...workers, schedules],
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
