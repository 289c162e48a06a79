import type { BucketSink } from "../../platform/blob/blob-store.ts";
import { openS3BlobStore } from "../../platform/blob/open-s3-blob-store.ts";
import type { Clock } from "../../platform/clock.ts";
import type { Database } from "../../platform/db/database.ts";
import { AppError } from "../../platform/errors.ts";
import { microsOf, microsText, wireTime } from "../../platform/exact-time.ts";
import type { JobContext } from "../../platform/jobs/job-worker.ts";
import type { NetworkGuard } from "../../platform/network/network-guard.ts";
import { type Destination, destinationNotFound, pathInBucket } from "../destinations/destination.ts";
import type { DestinationService } from "../destinations/destination-service.ts";
import { findDestination } from "../destinations/destination-store.ts";
import { type BulkExport, manifestKey } from "../exports/export.ts";
import { orderedFields } from "../exports/export-fields.ts";
import { enqueueNext } from "../exports/export-jobs.ts";
import type { ExportLimits } from "../exports/export-limits.ts";
import { lockExport, moveExport } from "../exports/export-store.ts";
import type { Partition } from "../partitions/partition.ts";
import { listPartitions, reopenPartition } from "../partitions/partition-store.ts";
import { uploadTokenKey } from "../partitions/partition-task.ts";

export type ExportFinisherOptions = {
  database: Database;
  clock: Clock;
  limits: ExportLimits;
  network: NetworkGuard;
  destinations: DestinationService;
};

/** The last step: the files are looked at where something went wrong on the way, then the manifest is written. */
export class ExportFinisher {
  readonly #options: ExportFinisherOptions;

  constructor(options: ExportFinisherOptions) {
    this.#options = options;
  }

  async finish(exportId: string, job: JobContext): Promise<void> {
    const { database, limits, clock } = this.#options;
    const row = await database.transaction((tx) => lockExport(tx, exportId));
    if (row?.status !== "RUNNING") return;
    const partitions = await listPartitions(database.sql, exportId);
    if (partitions.some((partition) => partition.status !== "COMPLETED")) return;
    const destination = await findDestination(database.sql, row.workspace_id, row.bulk_export_destination_id);
    if (!destination) throw destinationNotFound(row.bulk_export_destination_id);
    const store = await openS3BlobStore({
      settings: this.#options.destinations.settingsOf(destination),
      network: this.#options.network,
      signal: job.signal,
      silenceTimeoutMs: limits.storageTimeoutMs,
    });
    try {
      const damaged = await findDamaged(store, partitions);
      if (damaged.length > 0) return await this.#reopen(exportId, damaged, job);
      const body = JSON.stringify(manifestOf(row, partitions, destination, clock.now()), null, 2);
      const key = manifestKey(destination.config.prefix, exportId);
      await store.put(key, Buffer.from(body), { contentType: "application/json" });
    } finally {
      store.close();
    }
    await database.transaction(async (tx) => {
      await lockExport(tx, exportId);
      await job.fence(tx);
      await moveExport(tx, { id: exportId, from: ["RUNNING"], to: "COMPLETED", now: clock.now() });
    });
  }

  async #reopen(exportId: string, damaged: Partition[], job: JobContext): Promise<void> {
    const { database, clock, limits } = this.#options;
    await database.transaction(async (tx) => {
      const row = await lockExport(tx, exportId);
      await job.fence(tx);
      if (row?.status !== "RUNNING") return;
      const now = clock.now();
      for (const partition of damaged) await reopenPartition(tx, partition.id, now);
      await enqueueNext(tx, { exportId, atOnce: limits.queuedPerExport, now });
    });
  }
}

/**
 * Partitions whose files are not the ones they wrote. This happens if a worker lost its partition while it was
 * publishing a file and still published it, so only partitions that changed workers are checked.
 */
async function findDamaged(store: BucketSink, partitions: Partition[]): Promise<Partition[]> {
  const damaged: Partition[] = [];
  for (const partition of partitions.filter((one) => one.retry_number > 0)) {
    for (const file of partition.files) {
      if (await isAsWritten(store, file)) continue;
      damaged.push(partition);
      break;
    }
  }
  return damaged;
}

async function isAsWritten(store: BucketSink, file: Partition["files"][number]): Promise<boolean> {
  try {
    const found = await store.head(file.path);
    return found?.bytes === file.bytes && found.metadata[uploadTokenKey] === file.token;
  } catch (error) {
    // Reading need not be permitted.
    if (error instanceof AppError && error.code === "blob.no_permission") return true;
    throw error;
  }
}

function manifestOf(row: BulkExport, partitions: Partition[], destination: Destination, now: Date) {
  const files = partitions.flatMap((partition) =>
    partition.files.map((file) => ({
      path: pathInBucket(destination.config, file.path),
      key: file.path,
      session_id: partition.session_id,
      rows: file.rows,
      bytes: file.bytes,
    })),
  );
  return {
    manifest_version: 1,
    export_id: row.id,
    source_bulk_export_id: row.source_bulk_export_id,
    tenant_id: row.workspace_id,
    session_id: row.session_id,
    all_experiments: row.all_experiments,
    skipped_session_ids: row.skipped_session_ids,
    start_time: wireTime(row.start_time),
    end_time: row.end_time === null ? null : wireTime(row.end_time),
    filter: row.filter,
    trace_filter: row.trace_filter,
    format: row.format,
    format_version: row.format_version,
    compression: row.compression,
    fields: orderedFields(row.export_fields),
    rows: partitions.reduce((sum, partition) => sum + partition.rows_written, 0),
    bytes: partitions.reduce((sum, partition) => sum + partition.bytes_written, 0),
    files,
    written_at: wireTime(microsText(microsOf(now))),
  };
}
