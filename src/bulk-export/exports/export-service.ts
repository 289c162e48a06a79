import type { Clock } from "../../platform/clock.ts";
import type { Database, Sql } from "../../platform/db/database.ts";
import { AppError } from "../../platform/errors.ts";
import type { Caller } from "../../platform/http/access/caller.ts";
import { newId } from "../../platform/ids.ts";
import { type Destination, destinationNotFound } from "../destinations/destination.ts";
import { findDestination, holdDestination } from "../destinations/destination-store.ts";
import { isFinished } from "../partitions/export-status.ts";
import { type FilePage, type ListedFile, listFiles } from "../partitions/file-store.ts";
import { type Partition, partitionNotFound } from "../partitions/partition.ts";
import * as partitions from "../partitions/partition-store.ts";
import type { RunSource } from "../partitions/run-source.ts";
import { type BulkExport, exportNotFound, givenFilter, projectNotFound } from "./export.ts";
import { requireHourlyRoom, requireScheduleRoom } from "./export-caps.ts";
import { cancelJobs } from "./export-jobs.ts";
import type { ExportLimits } from "./export-limits.ts";
import type { CreateExport } from "./export-schemas.ts";
import * as store from "./export-store.ts";

export type ExportView = { row: BulkExport; progress: store.ExportProgress | undefined };
export type PartitionView = { partition: Partition; destination: Destination };
export type FileView = { file: ListedFile; destination: Destination };

export type ExportServiceOptions = {
  database: Database;
  clock: Clock;
  limits: ExportLimits;
  source: RunSource;
  /** Throws the 403 where the caller's plan has no exports. */
  requirePlan(caller: Caller): Promise<void>;
  /** Something may be able to start now. */
  wake(): void;
};

/** Use cases of exports and their partitions. */
export class ExportService {
  readonly #options: ExportServiceOptions;

  constructor(options: ExportServiceOptions) {
    this.#options = options;
  }

  async create(caller: Caller, input: CreateExport): Promise<ExportView> {
    const { source, database, clock } = this.#options;
    const { workspaceId } = caller;
    const filter = givenFilter(input.filter);
    const traceFilter = givenFilter(input.trace_filter);
    if (filter !== null) source.checkFilter(filter, "filter");
    if (traceFilter !== null) source.checkFilter(traceFilter, "trace_filter");
    await this.#options.requirePlan(caller);
    const destinationId = input.bulk_export_destination_id;
    await this.#destinationOf(workspaceId, destinationId);
    if (input.session_id != null && !(await source.projectExists(workspaceId, input.session_id))) {
      throw projectNotFound(input.session_id);
    }
    const row = await database.transaction(async (tx) => {
      if (!(await holdDestination(tx, workspaceId, destinationId))) throw destinationNotFound(destinationId);
      await this.#requireRoom(tx, workspaceId, input.interval_hours != null);
      const created = await store.insertExport(
        tx,
        {
          id: newId(),
          workspace_id: workspaceId,
          bulk_export_destination_id: destinationId,
          session_id: input.session_id ?? null,
          all_experiments: input.all_experiments ?? false,
          start_time: input.start_time,
          end_time: input.end_time ?? null,
          interval_hours: input.interval_hours ?? null,
          filter,
          trace_filter: traceFilter,
          export_fields: input.export_fields ?? null,
          format: input.format,
          format_version: input.format_version,
          compression: input.compression,
          source_bulk_export_id: null,
        },
        clock.now(),
      );
      return created!;
    });
    this.#options.wake();
    return { row, progress: undefined };
  }

  async list(workspaceId: string, page: store.ExportPage): Promise<ExportView[]> {
    const { database } = this.#options;
    const rows = await store.listExports(database.sql, workspaceId, page);
    const progress = await store.readProgress(
      database.sql,
      rows.map((row) => row.id),
    );
    return rows.map((row) => ({ row, progress: progress.get(row.id) }));
  }

  async get(workspaceId: string, id: string): Promise<ExportView> {
    return this.#view(await this.#find(workspaceId, id));
  }

  async cancel(workspaceId: string, id: string): Promise<ExportView> {
    const { database, clock } = this.#options;
    await this.#find(workspaceId, id);
    await database.transaction(async (tx) => {
      const row = await store.lockExport(tx, id);
      if (!row) throw exportNotFound(id);
      if (row.status === "CANCELLED") return;
      if (isFinished(row.status)) throw alreadyFinished(row);
      const now = clock.now();
      await store.moveExport(tx, { id, from: ["CREATED", "RUNNING"], to: "CANCELLED", now });
      await cancelJobs(
        tx,
        await partitions.endUnfinishedPartitions(tx, { exportId: id, status: "CANCELLED", now }),
      );
    });
    this.#options.wake();
    return this.#view(await this.#find(workspaceId, id));
  }

  async listPartitions(workspaceId: string, id: string): Promise<PartitionView[]> {
    const row = await this.#find(workspaceId, id);
    const destination = await this.#destinationOf(workspaceId, row.bulk_export_destination_id);
    return (await partitions.listPartitions(this.#options.database.sql, id)).map((partition) => ({
      partition,
      destination,
    }));
  }

  async getPartition(workspaceId: string, id: string, partitionId: string): Promise<PartitionView> {
    const row = await this.#find(workspaceId, id);
    const partition = await partitions.findPartition(this.#options.database.sql, partitionId);
    if (!partition || partition.bulk_export_id !== id) throw partitionNotFound(partitionId);
    return { partition, destination: await this.#destinationOf(workspaceId, row.bulk_export_destination_id) };
  }

  async listFiles(workspaceId: string, id: string, page: FilePage): Promise<FileView[]> {
    const row = await this.#find(workspaceId, id);
    const destination = await this.#destinationOf(workspaceId, row.bulk_export_destination_id);
    if (page.partitionId !== null) await this.getPartition(workspaceId, id, page.partitionId);
    const found = await listFiles(this.#options.database.sql, id, page);
    return found.map((file) => ({ file, destination }));
  }

  async listPartitionsOfSchedule(workspaceId: string, sourceId: string): Promise<PartitionView[]> {
    const row = await this.#find(workspaceId, sourceId);
    const destination = await this.#destinationOf(workspaceId, row.bulk_export_destination_id);
    const found = await partitions.listPartitionsOfSchedule(
      this.#options.database.sql,
      workspaceId,
      sourceId,
    );
    return found.map((partition) => ({ partition, destination }));
  }

  async #view(row: BulkExport): Promise<ExportView> {
    return {
      row,
      progress: (await store.readProgress(this.#options.database.sql, [row.id])).get(row.id),
    };
  }

  async #find(workspaceId: string, id: string): Promise<BulkExport> {
    const found = await store.findExport(this.#options.database.sql, workspaceId, id);
    if (!found) throw exportNotFound(id);
    return found;
  }

  async #destinationOf(workspaceId: string, id: string): Promise<Destination> {
    const found = await findDestination(this.#options.database.sql, workspaceId, id);
    if (!found) throw destinationNotFound(id);
    return found;
  }

  async #requireRoom(tx: Sql, workspaceId: string, scheduled: boolean) {
    const { limits, clock } = this.#options;
    const { caps } = limits;
    if (caps === null) return;
    await store.lockWorkspaceExports(tx, workspaceId);
    // A schedule does not count itself; what it spawns does.
    if (scheduled) await requireScheduleRoom(tx, { workspaceId, caps });
    else await requireHourlyRoom(tx, { workspaceId, caps, now: clock.now() });
  }
}

function alreadyFinished(row: BulkExport): AppError {
  return new AppError({
    code: "bulk_export.finished",
    kind: "conflict",
    message: `Bulk export ${row.id} cannot be cancelled: it is ${row.status} already.`,
  });
}
