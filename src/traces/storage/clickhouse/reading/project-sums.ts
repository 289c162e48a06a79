import type { Database } from "../../../../platform/db/database.ts";
import { readProjectFeedback } from "../../feedback-row-store.ts";
import { noRuns, type ProjectStats, type RunStats } from "../../run-stats.ts";
import { Values } from "../filter/condition.ts";
import type { BoundedRows } from "./bounded-rows.ts";
import { readProjectsMark } from "./projects-mark-store.ts";
import type { QueriedRuns } from "./queried-runs.ts";
import { timeText } from "./run-field-sql.ts";
import { aggregates } from "./run-sums.ts";

const runsPerProject = 10;

/** Whole projects in numbers. */
export class ProjectSums {
  readonly #rows: BoundedRows;
  readonly #runs: QueriedRuns;
  readonly #database: Database;

  constructor(options: { rows: BoundedRows; runs: QueriedRuns; database: Database }) {
    this.#rows = options.rows;
    this.#runs = options.runs;
    this.#database = options.database;
  }

  async of(workspaceId: string, projectIds: readonly string[]): Promise<Map<string, ProjectStats>> {
    if (projectIds.length === 0) return new Map();
    const values = new Values();
    const [rows, feedback] = await Promise.all([
      this.#rows.read<RunStats & { of: string }>(
        `select project_id as of, ${aggregates({ isRoot: true })} from trace_runs final
          where ${ofProjects(workspaceId, projectIds, values)} and is_root group by of`,
        values.params,
      ),
      readProjectFeedback(this.#database.sql, workspaceId, projectIds),
    ]);
    const found = new Map(rows.map(({ of, ...sums }) => [of, sums]));
    return new Map(
      projectIds.map((id) => {
        const { median_tokens: _, ...sums } = found.get(id) ?? noRuns;
        return [id, { ...sums, feedback_stats: feedback.get(id) ?? {} }];
      }),
    );
  }

  async lastStarts(workspaceId: string): Promise<Map<string, string>> {
    const rows = await this.#runs.ask<{ of: string; last: string }>(
      { workspaceId },
      (runs) => `select project_id as of, ${timeText("max(start_time)")} as last from ${runs} group by of`,
    );
    return new Map(rows.map(({ of, last }) => [of, last]));
  }

  /** Only recent runs are looked at: a trace that is sent days late is shown, but no hint is sent for it. */
  async mark(workspaceId: string): Promise<string> {
    const { mark, ids } = await readProjectsMark(this.#database, workspaceId);
    if (ids.length === 0) return mark;
    const values = new Values();
    const [row] = await this.#rows.read<Record<string, unknown>>(
      `select toString(max(start_time)) as started, toString(max(ended[1])) as last_end, count(ended[1]) as endings,
          sum(trace_runs.total_tokens) as tokens
        from (
          select start_time, ended, trace_runs.total_tokens from trace_runs final
          where ${ofProjects(workspaceId, ids, values)} and is_root and start_time > now() - interval 1 day
          order by start_time desc, id desc limit ${runsPerProject} by project_id
        ) as trace_runs`,
      values.params,
    );
    return [mark, ...Object.values(row ?? {})].join(" ");
  }
}

function ofProjects(workspaceId: string, projectIds: readonly string[], values: Values): string {
  return `workspace_id = ${values.bind(workspaceId, "UUID")}
    and project_id in ${values.bind(projectIds, "Array(UUID)")} and not is_gone`;
}
