import type { Clock } from "../../platform/clock.ts";
import { microsOf, microsText, parseMicros } from "../../platform/exact-time.ts";
import type { RunSource } from "../partitions/run-source.ts";
import { givenFilter, projectNotFound } from "./export.ts";
import type { ExportLimits } from "./export-limits.ts";
import type { PreviewExport } from "./export-schemas.ts";

export type ExportPreview = { rows: number; estimate: boolean; projects: number };
/** A user waits for the answer while filling in the form. */
const countTimeoutMs = 2_000;

type PreviewServiceOptions = {
  clock: Clock;
  limits: ExportLimits;
  source: RunSource;
  countTimeoutMs?: number;
};

/** How much an export would hold, before anybody creates it. */
export class PreviewService {
  readonly #options: PreviewServiceOptions;

  constructor(options: PreviewServiceOptions) {
    this.#options = options;
  }

  async preview(workspaceId: string, input: PreviewExport): Promise<ExportPreview> {
    const { source, clock } = this.#options;
    const filter = givenFilter(input.filter);
    const traceFilter = givenFilter(input.trace_filter);
    if (filter !== null) source.checkFilter(filter, "filter");
    if (traceFilter !== null) source.checkFilter(traceFilter, "trace_filter");
    const projectIds = await this.#projectsOf(workspaceId, input);
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
      timeoutMs: this.#options.countTimeoutMs ?? countTimeoutMs,
    });
    return { ...counted, projects };
  }

  async #projectsOf(workspaceId: string, input: PreviewExport): Promise<string[]> {
    const { source, limits } = this.#options;
    if (input.session_id == null) {
      const all = await source.listExperiments(workspaceId);
      return all.slice(0, limits.caps?.experimentsPerExport ?? all.length);
    }
    if (!(await source.projectExists(workspaceId, input.session_id))) throw projectNotFound(input.session_id);
    return [input.session_id];
  }
}
