import type { Clock } from "../../platform/clock.ts";
import type { Database } from "../../platform/db/database.ts";
import { microsOf, microsText, parseMicros } from "../exact-time.ts";
import type { ExportLimits } from "../export-limits.ts";
import type { RunSource } from "../partitions/run-source.ts";
import { givenFilter, projectNotFound } from "./export.ts";
import type { PreviewExport } from "./export-schemas.ts";

export type ExportPreview = { rows: number; estimate: boolean; projects: number };
export type PreviewService = {
  preview(workspaceId: string, input: PreviewExport): Promise<ExportPreview>;
};

/** Somebody waits for the answer while choosing. */
const countTimeoutMs = 2_000;

/** How much an export would hold, before anybody creates it. */
export function createPreviewService(options: {
  database: Database;
  clock: Clock;
  limits: ExportLimits;
  source: RunSource;
  countTimeoutMs?: number;
}): PreviewService {
  const { database, clock, limits, source } = options;

  const projectsOf = async (workspaceId: string, input: PreviewExport): Promise<string[]> => {
    if (input.session_id == null) {
      const all = await source.listExperiments(database.sql, workspaceId);
      return all.slice(0, limits.caps?.experimentsPerExport ?? all.length);
    }
    if (!(await source.projectExists(workspaceId, input.session_id))) throw projectNotFound(input.session_id);
    return [input.session_id];
  };

  return {
    async preview(workspaceId, input) {
      const filter = givenFilter(input.filter);
      const traceFilter = givenFilter(input.trace_filter);
      if (filter !== null) source.checkFilter(filter, "filter");
      if (traceFilter !== null) source.checkFilter(traceFilter, "trace_filter");
      const projectIds = await projectsOf(workspaceId, input);
      const to = input.end_time ?? microsText(microsOf(clock.now()));
      const { length: projects } = projectIds;
      if (parseMicros(to)! <= parseMicros(input.start_time)!) return { rows: 0, estimate: false, projects };
      const counted = await source.countRuns({
        workspaceId,
        projectIds,
        from: input.start_time,
        to,
        filter,
        traceFilter,
        timeoutMs: options.countTimeoutMs ?? countTimeoutMs,
      });
      return { ...counted, projects };
    },
  };
}
