import type { BlobStore } from "../../platform/blob/blob-store.ts";
import { openS3BlobStore } from "../../platform/blob/s3-blob-store.ts";
import type { Clock } from "../../platform/clock.ts";
import type { Database, Sql } from "../../platform/db/database.ts";
import { AppError } from "../../platform/errors.ts";
import type { JobContext } from "../../platform/jobs/job-worker.ts";
import type { Logger } from "../../platform/logger.ts";
import type { NetworkGuard } from "../../platform/network-guard.ts";
import { type Destination, destinationNotFound } from "../destinations/destination.ts";
import type { DestinationService } from "../destinations/destination-service.ts";
import { findDestination } from "../destinations/destination-store.ts";
import type { ExportLimits } from "../export-limits.ts";
import type { BulkExport, ExportRun } from "../exports/export.ts";
import { columnsOf, constantFields, orderedFields } from "../exports/export-fields.ts";
import { enqueueNext } from "../exports/export-jobs.ts";
import { lockExport } from "../exports/export-store.ts";
import { changeRun, findRun } from "../exports/run-store.ts";
import { type FileLimits, type PartitionFile, type PartitionTask, uploadTokenKey } from "./partition-task.ts";
import type { PartitionThreads } from "./partition-threads.ts";
import { parseCursor } from "./run-cursor.ts";
import { recordFailure } from "./run-failure.ts";
import type { RunSource } from "./run-source.ts";

export type RunExecutorOptions = {
  database: Database;
  databaseUrl: string;
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

type Loaded = { run: ExportRun; row: BulkExport; destination: Destination };

/** Works on one run: from its cursor to its end, every step fenced by the job's lease. */
export function createRunExecutor(options: RunExecutorOptions) {
  const { database, clock, limits } = options;

  /**
   * In one transaction with the proof that the run is still ours; what follows a lost lease changes nothing. The
   * export is locked first, as everybody does who ends jobs of it: two orders would be a deadlock.
   */
  const fenced = (job: JobContext, exportId: string, work: (tx: Sql, row: BulkExport) => Promise<void>) =>
    database.transaction(async (tx) => {
      const row = await lockExport(tx, exportId);
      await job.fence(tx);
      if (row) await work(tx, row);
    });

  async function execute(runId: string, job: JobContext): Promise<void> {
    const loaded = await begin(runId, job);
    if (!loaded) return;
    const timeout = AbortSignal.timeout(limits.runTimeoutMs);
    try {
      await write(loaded, job, AbortSignal.any([job.signal, timeout]));
      await complete(loaded.run, job);
    } catch (error) {
      job.signal.throwIfAborted();
      // The queue itself tries again when the database was away: nothing could be written down now.
      if (error instanceof AppError && error.code === "database.unavailable") throw error;
      const failure = timeout.aborted ? runTimedOut(limits.runTimeoutMs) : error;
      options.logger.warn({ err: failure, export_id: loaded.row.id, run_id: runId }, "export run failed");
      await recordFailure({ database, clock, limits, run: loaded.run, job, error: failure });
    }
  }

  async function begin(runId: string, job: JobContext): Promise<Loaded | undefined> {
    let loaded: Loaded | undefined;
    const known = await findRun(database.sql, runId);
    if (!known) return undefined;
    await fenced(job, known.bulk_export_id, async (tx, row) => {
      const run = await findRun(tx, runId);
      if (!run || row.status !== "RUNNING" || run.job_id !== job.job.id) return;
      if (run.status !== "CREATED" && run.status !== "RUNNING") return;
      const destination = await findDestination(tx, row.workspace_id, row.bulk_export_destination_id);
      if (!destination) throw destinationNotFound(row.bulk_export_destination_id);
      const now = clock.now();
      await changeRun(tx, runId, { status: "RUNNING", ...(run.started_at ? {} : { started_at: now }) }, now);
      loaded = { run, row, destination };
    });
    if (!loaded || job.attempt === 1) return loaded;
    // Whoever had it before is gone without a word.
    const lost = interrupted(job);
    const kept = await recordFailure({
      database,
      clock,
      limits,
      run: loaded.run,
      job,
      error: lost,
      goOn: true,
    });
    return kept ? { ...loaded, run: kept } : undefined;
  }

  async function write(loaded: Loaded, job: JobContext, signal: AbortSignal): Promise<void> {
    const { run } = loaded;
    // Somebody was at it before.
    if (run.started_at !== null) await tidyUp(loaded, job, signal);
    const task = taskOf(loaded);
    await options.threads.write(
      task,
      {
        intent: (file) => fenced(job, run.bulk_export_id, (tx) => keepIntent(tx, run, file)),
        written: (file) => fenced(job, run.bulk_export_id, (tx) => keepFile(tx, run, file)),
      },
      signal,
    );
  }

  async function tidyUp(loaded: Loaded, job: JobContext, signal: AbortSignal): Promise<void> {
    const { run, destination } = loaded;
    const store = await openS3BlobStore({
      settings: options.destinations.settingsOf(destination),
      network: options.network,
      signal,
      silenceTimeoutMs: limits.storageTimeoutMs,
    });
    try {
      // The credentials need not permit it, and not every storage can: the export goes on without.
      const aborted = await store.abortUploads(run.export_path).catch((error: unknown) => {
        signal.throwIfAborted();
        options.logger.warn({ err: error, run_id: run.id }, "unfinished uploads could not be removed");
        return 0;
      });
      if (aborted > 0)
        options.logger.info(
          { run_id: run.id, uploads: aborted },
          "unfinished uploads of an export were removed",
        );
      await adoptPending(store, run, job);
    } finally {
      store.close();
    }
  }

  /** A file that appeared just before its writer died counts, if it is that very file; else it is written again. */
  async function adoptPending(store: BlobStore, run: ExportRun, job: JobContext): Promise<void> {
    const pending = run.pending_upload;
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
    await fenced(job, run.bulk_export_id, (tx) => keepFile(tx, run, file));
  }

  async function keepIntent(tx: Sql, run: ExportRun, file: PartitionFile): Promise<void> {
    const pending_upload = {
      target_cursor: file.cursor,
      file_path: file.key,
      rows_count: file.rows,
      bytes: file.bytes,
      token: file.token,
    };
    if (!(await changeRun(tx, run.id, { pending_upload }, clock.now()))) throw runEnded(run.id);
  }

  async function keepFile(tx: Sql, run: ExportRun, file: PartitionFile): Promise<void> {
    const { key: path, rows, bytes, token } = file;
    const change = {
      files: [...run.files, { path, rows, bytes, token }],
      rows_written: run.rows_written + rows,
      bytes_written: run.bytes_written + bytes,
      latest_cursor: file.cursor,
      pending_upload: null,
    };
    if (!(await changeRun(tx, run.id, change, clock.now()))) throw runEnded(run.id);
    Object.assign(run, change);
  }

  async function complete(run: ExportRun, job: JobContext): Promise<void> {
    await fenced(job, run.bulk_export_id, async (tx, row) => {
      const now = clock.now();
      const change = { status: "COMPLETED", finished_at: now, pending_upload: null, job_id: null } as const;
      if (!(await changeRun(tx, run.id, change, now)) || row.status !== "RUNNING") return;
      await enqueueNext(tx, { exportId: run.bulk_export_id, atOnce: limits.queuedPerExport, now });
    });
  }

  function taskOf({ run, row, destination }: Loaded): PartitionTask {
    const fields = orderedFields(row.export_fields);
    const constants: readonly string[] = constantFields;
    const selected = options.source.selectRuns({
      workspaceId: run.workspace_id,
      projectId: run.session_id,
      from: run.start_time,
      to: run.end_time,
      after: run.latest_cursor === null ? null : parseCursor(run.latest_cursor),
      filter: row.filter,
      traceFilter: row.trace_filter,
      fields: fields.filter((name) => !constants.includes(name)),
    });
    const kinds = new Map(selected.fields.map(({ name, kind }) => [name, kind]));
    return {
      databaseUrl: options.databaseUrl,
      select: selected.select,
      fields: selected.fields.map(({ name }) => name),
      columns: columnsOf(fields, kinds, { tenant_id: run.workspace_id, session_id: run.session_id }),
      compression: row.compression,
      limits: options.fileLimits,
      bucket: options.destinations.settingsOf(destination),
      allowPrivateAddresses: options.allowPrivateAddresses,
      silenceTimeoutMs: limits.storageTimeoutMs,
      folder: run.export_path,
      firstPart: run.files.length,
      metadata: { "treadle.export_id": row.id, "treadle.format_version": row.format_version },
    };
  }

  return { execute };
}

function runEnded(id: string): AppError {
  return new AppError({
    code: "bulk_export.run_ended",
    kind: "conflict",
    message: `Bulk export run ${id} has ended.`,
  });
}

function runTimedOut(ms: number): AppError {
  return new AppError({
    code: "bulk_export.run_timeout",
    kind: "unavailable",
    message: `The run took longer than ${Math.round(ms / 1000)} seconds.`,
  });
}

function interrupted(job: JobContext): AppError {
  return new AppError({
    code: "bulk_export.interrupted",
    kind: "unavailable",
    message: job.job.lastError?.message ?? "The worker ended before the run was finished.",
  });
}
