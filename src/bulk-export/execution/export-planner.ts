import type { Clock } from "../../platform/clock.ts";
import type { Database, Sql } from "../../platform/db/database.ts";
import { microsText, parseMicros } from "../../platform/exact-time.ts";
import { newId } from "../../platform/ids.ts";
import { destinationNotFound } from "../destinations/destination.ts";
import { findDestination } from "../destinations/destination-store.ts";
import type { BulkExport } from "../exports/export.ts";
import { enqueueNext } from "../exports/export-jobs.ts";
import type { ExportLimits } from "../exports/export-limits.ts";
import { lockExport, markPlanned } from "../exports/export-store.ts";
import { partitionFolder, planDays, type Window } from "../partitions/partition.ts";
import { insertPartitions, type NewPartition } from "../partitions/partition-store.ts";
import type { RunSource } from "../partitions/run-source.ts";

export type ExportPlannerOptions = {
  database: Database;
  clock: Clock;
  limits: ExportLimits;
  source: RunSource;
};

const insertBatch = 1_000;

/** The first step of an export: which projects, and which days of them. Done twice it changes nothing. */
export class ExportPlanner {
  readonly #options: ExportPlannerOptions;

  constructor(options: ExportPlannerOptions) {
    this.#options = options;
  }

  plan(exportId: string): Promise<void> {
    const { database, clock, limits } = this.#options;
    return database.transaction(async (tx) => {
      const row = await lockExport(tx, exportId);
      if (row?.status !== "RUNNING" || row.planned_at !== null || row.end_time === null) return;
      const { projects, skipped } = await this.#projectsOf(tx, row);
      const window = { from: parseMicros(row.start_time)!, to: parseMicros(row.end_time)! };
      const destination = await findDestination(tx, row.workspace_id, row.bulk_export_destination_id);
      if (!destination) throw destinationNotFound(row.bulk_export_destination_id);
      const partitions: NewPartition[] = [];
      for (const projectId of projects) {
        const place = { prefix: destination.config.prefix, projectId, projects: projects.length };
        partitions.push(...(await this.#partitionsOf(tx, row, window, place)));
      }
      const now = clock.now();
      for (let at = 0; at < partitions.length; at += insertBatch) {
        const batch = partitions.slice(at, at + insertBatch);
        await insertPartitions(tx, { exportId, workspaceId: row.workspace_id, now, partitions: batch });
      }
      await markPlanned(tx, { id: exportId, skipped, now });
      await enqueueNext(tx, { exportId, atOnce: limits.queuedPerExport, now });
    });
  }

  async #projectsOf(tx: Sql, row: BulkExport): Promise<{ projects: string[]; skipped: string[] }> {
    const { source, limits } = this.#options;
    if (row.session_id !== null) return { projects: [row.session_id], skipped: [] };
    const all = await source.listExperiments(tx, row.workspace_id);
    const most = limits.caps?.experimentsPerExport ?? all.length;
    return { projects: all.slice(0, most), skipped: all.slice(most) };
  }

  async #partitionsOf(
    tx: Sql,
    row: BulkExport,
    window: Window,
    place: { prefix: string; projectId: string; projects: number },
  ): Promise<NewPartition[]> {
    const { projectId } = place;
    const bounds = { projectId, from: microsText(window.from), to: microsText(window.to) };
    const days = new Set(await this.#options.source.listDays(tx, bounds));
    return planDays(window, days, place.projects).map((planned) => ({
      id: newId(),
      session_id: projectId,
      start_time: microsText(planned.from),
      end_time: microsText(planned.to),
      empty: planned.empty,
      export_path: partitionFolder({
        prefix: place.prefix,
        exportId: row.id,
        workspaceId: row.workspace_id,
        sessionId: projectId,
        from: planned.from,
      }),
    }));
  }
}
