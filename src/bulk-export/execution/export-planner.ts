import type { Clock } from "../../platform/clock.ts";
import type { Database } from "../../platform/db/database.ts";
import { microsText, parseMicros } from "../../platform/exact-time.ts";
import { newId } from "../../platform/ids.ts";
import { destinationNotFound } from "../destinations/destination.ts";
import { findDestination } from "../destinations/destination-store.ts";
import type { BulkExport } from "../exports/export.ts";
import { enqueueNext } from "../exports/export-jobs.ts";
import type { ExportLimits } from "../exports/export-limits.ts";
import { lockExport, markPlanned } from "../exports/export-store.ts";
import { partitionFolder, planDays } from "../partitions/partition.ts";
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

  async plan(exportId: string): Promise<void> {
    const { database, clock, limits } = this.#options;
    const row = await database.transaction((tx) => lockExport(tx, exportId));
    if (row === undefined || !isToBePlanned(row)) return;
    // Outside of the transaction, which holds the export: an engine may take its time over it, or be away.
    const { projects, skipped } = await this.#projectsOf(row);
    const days = await this.#daysOf(row, projects);
    await database.transaction(async (tx) => {
      const locked = await lockExport(tx, exportId);
      if (locked === undefined || !isToBePlanned(locked)) return;
      const destination = await findDestination(tx, row.workspace_id, row.bulk_export_destination_id);
      if (!destination) throw destinationNotFound(row.bulk_export_destination_id);
      const { prefix } = destination.config;
      const partitions = projects.flatMap((projectId) =>
        partitionsOf(row, days.get(projectId)!, { prefix, projectId, projects: projects.length }),
      );
      const now = clock.now();
      for (let at = 0; at < partitions.length; at += insertBatch) {
        const batch = partitions.slice(at, at + insertBatch);
        await insertPartitions(tx, { exportId, workspaceId: row.workspace_id, now, partitions: batch });
      }
      await markPlanned(tx, { id: exportId, skipped, now });
      await enqueueNext(tx, { exportId, atOnce: limits.queuedPerExport, now });
    });
  }

  async #projectsOf(row: BulkExport): Promise<{ projects: string[]; skipped: string[] }> {
    const { source, limits } = this.#options;
    if (row.session_id !== null) return { projects: [row.session_id], skipped: [] };
    const all = await source.listExperiments(row.workspace_id);
    const most = limits.caps?.experimentsPerExport ?? all.length;
    return { projects: all.slice(0, most), skipped: all.slice(most) };
  }

  /** By project, the days that have runs. */
  async #daysOf(row: PlannedExport, projects: readonly string[]): Promise<Map<string, ReadonlySet<string>>> {
    const { workspace_id: workspaceId, start_time: from, end_time: to } = row;
    const days = new Map<string, ReadonlySet<string>>();
    for (const projectId of projects)
      days.set(projectId, new Set(await this.#options.source.listDays({ workspaceId, projectId, from, to })));
    return days;
  }
}

type PlannedExport = BulkExport & { end_time: string };

function isToBePlanned(row: BulkExport): row is PlannedExport {
  return row.status === "RUNNING" && row.planned_at === null && row.end_time !== null;
}

function partitionsOf(
  row: PlannedExport,
  days: ReadonlySet<string>,
  place: { prefix: string; projectId: string; projects: number },
): NewPartition[] {
  const window = { from: parseMicros(row.start_time)!, to: parseMicros(row.end_time)! };
  return planDays(window, days, place.projects).map((planned) => ({
    id: newId(),
    session_id: place.projectId,
    start_time: microsText(planned.from),
    end_time: microsText(planned.to),
    empty: planned.empty,
    export_path: partitionFolder({
      prefix: place.prefix,
      exportId: row.id,
      workspaceId: row.workspace_id,
      sessionId: place.projectId,
      from: planned.from,
    }),
  }));
}
