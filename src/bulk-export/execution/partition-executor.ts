import type { BucketSink } from "../../platform/blob/blob-store.ts";
import { openS3BlobStore } from "../../platform/blob/open-s3-blob-store.ts";
import type { Clock } from "../../platform/clock.ts";
import type { Database, Sql } from "../../platform/db/database.ts";
import { AppError } from "../../platform/errors.ts";
import type { JobContext } from "../../platform/jobs/job-worker.ts";
import type { Logger } from "../../platform/logger.ts";
import type { NetworkGuard } from "../../platform/network/network-guard.ts";
import { type Destination, destinationNotFound } from "../destinations/destination.ts";
import type { DestinationService } from "../destinations/destination-service.ts";
import { findDestination } from "../destinations/destination-store.ts";
import type { BulkExport } from "../exports/export.ts";
import { columnsOf, constantFields, orderedFields } from "../exports/export-fields.ts";
import { enqueueNext } from "../exports/export-jobs.ts";
import type { ExportLimits } from "../exports/export-limits.ts";
import { lockExport } from "../exports/export-store.ts";
import { type EngineEvents, writeByEngine } from "../partitions/engine-partition.ts";
import type { Partition } from "../partitions/partition.ts";
import { parseCursor } from "../partitions/partition-cursor.ts";
import { changePartition, countUnderWay, findPartition } from "../partitions/partition-store.ts";
import {
  type FileLimits,
  type PartitionFile,
  type PartitionTask,
  uploadTokenKey,
} from "../partitions/partition-task.ts";
import type { PartitionThreads } from "../partitions/partition-threads.ts";
import type { RunSource, SelectRuns } from "../partitions/run-source.ts";
import { recordFailure } from "./partition-failure.ts";

export type PartitionExecutorOptions = {
  database: Database;
  clock: Clock;
  logger: Logger;
  limits: ExportLimits;
  fileLimits: FileLimits;
  network: NetworkGuard;
  allowPrivateAddresses: boolean;
  destinations: DestinationService;
  source: RunSource;
  threads: PartitionThreads;
};

type Loaded = { partition: Partition; row: BulkExport; destination: Destination };

/** Works on one partition: from its cursor to its end, every step fenced by the job's lease. */
export class PartitionExecutor {
  readonly #options: PartitionExecutorOptions;

  constructor(options: PartitionExecutorOptions) {
    this.#options = options;
  }

  async execute(partitionId: string, job: JobContext): Promise<void> {
    const { limits, database, clock } = this.#options;
    const loaded = await this.#begin(partitionId, job);
    if (!loaded) return;
    const timeout = AbortSignal.timeout(limits.partitionTimeoutMs);
    try {
      await this.#write(loaded, job, AbortSignal.any([job.signal, timeout]));
      await this.#complete(loaded.partition, job);
    } catch (error) {
      job.signal.throwIfAborted();
      // The queue itself tries again when the database was away: nothing could be written down now.
      if (error instanceof AppError && error.code === "database.unavailable") throw error;
      const failure = timeout.aborted ? partitionTimedOut(limits.partitionTimeoutMs) : error;
      this.#options.logger.warn(
        { err: failure, export_id: loaded.row.id, partition_id: partitionId },
        "export partition failed",
      );
      await recordFailure({ database, clock, limits, partition: loaded.partition, job, error: failure });
    }
  }

  /**
   * In one transaction with the proof that the partition is still ours; after a lost lease nothing is changed. The
   * export is locked first, as everywhere its jobs are ended: another lock order could deadlock.
   */
  #fenced(job: JobContext, exportId: string, work: (tx: Sql, row: BulkExport) => Promise<void>) {
    return this.#options.database.transaction(async (tx) => {
      const row = await lockExport(tx, exportId);
      await job.fence(tx);
      if (row) await work(tx, row);
    });
  }

  async #begin(partitionId: string, job: JobContext): Promise<Loaded | undefined> {
    const { database, clock, limits } = this.#options;
    let loaded: Loaded | undefined;
    const known = await findPartition(database.sql, partitionId);
    if (!known) return undefined;
    await this.#fenced(job, known.bulk_export_id, async (tx, row) => {
      const partition = await findPartition(tx, partitionId);
      if (!partition || row.status !== "RUNNING" || partition.job_id !== job.job.id) return;
      if (partition.status !== "CREATED" && partition.status !== "RUNNING") return;
      const destination = await findDestination(tx, row.workspace_id, row.bulk_export_destination_id);
      if (!destination) throw destinationNotFound(row.bulk_export_destination_id);
      const now = clock.now();
      // What an engine did not finish is written again from its first row.
      const forgotten = partition.pending_upload?.expected_rows === undefined ? {} : { pending_upload: null };
      const begun = { ...forgotten, ...(partition.started_at ? {} : { started_at: now }) };
      await changePartition(tx, partitionId, { status: "RUNNING", ...begun }, now);
      loaded = { partition: { ...partition, ...forgotten }, row, destination };
    });
    if (!loaded || job.attempt === 1) return loaded;
    // The worker that had it before ended without recording why.
    const lost = interrupted(job);
    const kept = await recordFailure({
      database,
      clock,
      limits,
      partition: loaded.partition,
      job,
      error: lost,
      goOn: true,
    });
    return kept ? { ...loaded, partition: kept } : undefined;
  }

  async #write(loaded: Loaded, job: JobContext, signal: AbortSignal): Promise<void> {
    const { database, clock } = this.#options;
    const { partition } = loaded;
    // An earlier attempt has begun it.
    if (partition.started_at !== null) {
      await this.#options.source.engine?.end(engineName(partition));
      await this.#tidyUp(loaded, job, signal);
    }
    const events = {
      intent: (file: PartitionFile) =>
        this.#fenced(job, partition.bulk_export_id, (tx) => this.#keepIntent(tx, partition, file)),
      written: (file: PartitionFile) =>
        this.#fenced(job, partition.bulk_export_id, (tx) => this.#keepFile(tx, partition, file)),
      // Its token is known to nobody else: without a lease nothing of another process is changed.
      underWay: ({ token }: PartitionFile, rows: number) =>
        countUnderWay(database.sql, partition.id, { token, rows }, clock.now()),
    };
    if (await this.#writeByEngine(loaded, events, signal)) return;
    await this.#options.threads.write(this.#taskOf(loaded), events, signal);
  }

  /** False where there is none that can, or it left the rest to us. */
  async #writeByEngine(loaded: Loaded, events: EngineEvents, signal: AbortSignal): Promise<boolean> {
    const { source, destinations, network, limits, fileLimits, allowPrivateAddresses } = this.#options;
    const { partition, row, destination } = loaded;
    if (source.engine === undefined) return false;
    const bucket = destinations.settingsOf(destination);
    const silenceTimeoutMs = limits.storageTimeoutMs;
    const store = await openS3BlobStore({ settings: bucket, network, signal, silenceTimeoutMs });
    try {
      const planned = {
        name: engineName(partition),
        selection: selectionOf(loaded, orderedFields(row.export_fields)),
        compression: row.compression,
        limits: fileLimits,
        ...{ bucket, allowPrivateAddresses, network },
        folder: partition.export_path,
        firstPart: partition.files.length,
        checkStorage: () => destinations.tryOut(destination),
      };
      return await writeByEngine(source.engine, planned, events, store, signal);
    } finally {
      store.close();
    }
  }

  async #tidyUp(loaded: Loaded, job: JobContext, signal: AbortSignal): Promise<void> {
    const { partition, destination } = loaded;
    const store = await openS3BlobStore({
      settings: this.#options.destinations.settingsOf(destination),
      network: this.#options.network,
      signal,
      silenceTimeoutMs: this.#options.limits.storageTimeoutMs,
    });
    try {
      // The credentials need not permit it, and not every storage can: the export continues without it.
      const aborted = await store.abortUploads(partition.export_path).catch((error: unknown) => {
        signal.throwIfAborted();
        this.#options.logger.warn(
          { err: error, partition_id: partition.id },
          "unfinished uploads could not be removed",
        );
        return 0;
      });
      if (aborted > 0)
        this.#options.logger.info(
          { partition_id: partition.id, uploads: aborted },
          "unfinished uploads of an export were removed",
        );
      await this.#adoptPending(store, partition, job);
    } finally {
      store.close();
    }
  }

  /** A file that appeared just before its writer died counts, if it is that very file; else it is written again. */
  async #adoptPending(store: BucketSink, partition: Partition, job: JobContext): Promise<void> {
    const pending = partition.pending_upload;
    if (!pending) return;
    const found = await store.head(pending.file_path).catch((error: unknown) => {
      if (error instanceof AppError && error.code === "blob.no_permission") return null;
      throw error;
    });
    if (found?.bytes !== pending.bytes || found.metadata[uploadTokenKey] !== pending.token) return;
    const file = {
      key: pending.file_path,
      rows: pending.rows_count,
      bytes: pending.bytes,
      token: pending.token,
      cursor: pending.target_cursor,
    };
    await this.#fenced(job, partition.bulk_export_id, (tx) => this.#keepFile(tx, partition, file));
  }

  async #keepIntent(tx: Sql, partition: Partition, file: PartitionFile): Promise<void> {
    const pending_upload = {
      target_cursor: file.cursor,
      file_path: file.key,
      rows_count: file.rows,
      bytes: file.bytes,
      token: file.token,
      ...(file.expectedRows !== undefined && { expected_rows: file.expectedRows }),
    };
    if (!(await changePartition(tx, partition.id, { pending_upload }, this.#options.clock.now())))
      throw partitionEnded(partition.id);
  }

  async #keepFile(tx: Sql, partition: Partition, file: PartitionFile): Promise<void> {
    const { key: path, rows, bytes, token } = file;
    const change = {
      files: [...partition.files, { path, rows, bytes, token }],
      rows_written: partition.rows_written + rows,
      bytes_written: partition.bytes_written + bytes,
      latest_cursor: file.cursor,
      pending_upload: null,
    };
    if (!(await changePartition(tx, partition.id, change, this.#options.clock.now())))
      throw partitionEnded(partition.id);
    Object.assign(partition, change);
  }

  async #complete(partition: Partition, job: JobContext): Promise<void> {
    const { clock, limits } = this.#options;
    await this.#fenced(job, partition.bulk_export_id, async (tx, row) => {
      const now = clock.now();
      const change = { status: "COMPLETED", finished_at: now, pending_upload: null, job_id: null } as const;
      if (!(await changePartition(tx, partition.id, change, now)) || row.status !== "RUNNING") return;
      await enqueueNext(tx, { exportId: partition.bulk_export_id, atOnce: limits.queuedPerExport, now });
    });
  }

  #taskOf(loaded: Loaded): PartitionTask {
    const { partition, row, destination } = loaded;
    const fields = orderedFields(row.export_fields);
    const constants: readonly string[] = constantFields;
    const selected = this.#options.source.selectRuns(
      selectionOf(
        loaded,
        fields.filter((name) => !constants.includes(name)),
      ),
    );
    const kinds = new Map(selected.fields.map(({ name, kind }) => [name, kind]));
    return {
      reader: selected.reader,
      fields: selected.fields.map(({ name }) => name),
      columns: columnsOf(fields, kinds, {
        tenant_id: partition.workspace_id,
        session_id: partition.session_id,
      }),
      compression: row.compression,
      limits: this.#options.fileLimits,
      bucket: this.#options.destinations.settingsOf(destination),
      allowPrivateAddresses: this.#options.allowPrivateAddresses,
      silenceTimeoutMs: this.#options.limits.storageTimeoutMs,
      folder: partition.export_path,
      firstPart: partition.files.length,
      metadata: { "treadle.export_id": row.id, "treadle.format_version": row.format_version },
    };
  }
}

/** Under which an engine knows what it writes. */
const engineName = (partition: Partition) => `treadle-export-${partition.id}`;

/** What is not written yet. */
function selectionOf({ partition, row }: Loaded, fields: string[]): SelectRuns {
  return {
    workspaceId: partition.workspace_id,
    projectId: partition.session_id,
    from: partition.start_time,
    to: partition.end_time,
    after: partition.latest_cursor === null ? null : parseCursor(partition.latest_cursor),
    filter: row.filter,
    traceFilter: row.trace_filter,
    fields,
  };
}

function partitionEnded(id: string): AppError {
  return new AppError({
    code: "bulk_export.run_ended",
    kind: "conflict",
    message: `Bulk export partition ${id} has ended.`,
  });
}

function partitionTimedOut(ms: number): AppError {
  return new AppError({
    code: "bulk_export.run_timeout",
    kind: "unavailable",
    message: `Writing the partition took longer than ${Math.round(ms / 1000)} seconds.`,
  });
}

function interrupted(job: JobContext): AppError {
  return new AppError({
    code: "bulk_export.interrupted",
    kind: "unavailable",
    message: job.job.lastError?.message ?? "The worker ended before the partition was finished.",
  });
}
