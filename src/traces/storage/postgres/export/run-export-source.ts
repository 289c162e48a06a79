import type { Database, Sql } from "../../../../platform/db/database.ts";
import { inlineParameters } from "../../../../platform/db/inline-parameters.ts";
import { type RawBuilder, raw } from "../../../../platform/db/raw.ts";
import { parseFilter } from "../../../filter/parse-filter.ts";
import { filterConditions } from "./export-conditions.ts";
import { type ExportedField, exportedField } from "./exported-field.ts";
import { type CountRuns, countRuns, type RunCount } from "./run-count.ts";

export type RunSelection = {
  workspaceId: string;
  projectId: string;
  /** UTC texts with microseconds; the first inclusive, the second exclusive. */
  from: string;
  to: string;
  after: { startTime: string; id: string } | null;
  filter: string | null;
  traceFilter: string | null;
  fields: readonly string[];
};

/** How exports read traces: what they may ask, in the words of their own port. */
export class RunExportSource {
  readonly #database: Database;

  constructor(options: { database: Database }) {
    this.#database = options.database;
  }

  checkFilter(filter: string, field: "filter" | "trace_filter"): void {
    parseFilter(filter, ["body", field]);
  }

  async projectExists(workspaceId: string, projectId: string): Promise<boolean> {
    const { rows } = await raw`select 1 from trace_projects
      where id = ${projectId} and workspace_id = ${workspaceId} and deleted_at is null`.execute(
      this.#database.sql,
    );
    return rows.length > 0;
  }

  async listExperiments(sql: Sql, workspaceId: string): Promise<string[]> {
    const { rows } = await raw<{ id: string }>`select id from trace_projects
      where workspace_id = ${workspaceId} and reference_dataset_id is not null and deleted_at is null
      order by start_time, created_at, id`.execute(sql);
    return rows.map((row) => row.id);
  }

  async listDays(sql: Sql, input: { projectId: string; from: string; to: string }): Promise<string[]> {
    const firstDay = (
      from: RawBuilder<unknown>,
    ) => raw`select date_trunc('day', r.start_time at time zone 'UTC')
      from trace_runs r where r.project_id = ${input.projectId} and r.start_time >= ${from}
        and r.start_time < ${input.to}::timestamptz order by r.start_time limit 1`;
    // From each day found straight to the next: the cost is in the days there are, not in their runs.
    const { rows } = await raw<{ day: string }>`
      with recursive days (day) as (
        (${firstDay(raw`${input.from}::timestamptz`)})
        union all
        select (${firstDay(raw`(days.day + interval '1 day') at time zone 'UTC'`)}) from days where days.day is not null
      )
      select to_char(day, 'YYYY-MM-DD') as day from days where day is not null order by 1`.execute(sql);
    return rows.map((row) => row.day);
  }

  countRuns(input: CountRuns): Promise<RunCount> {
    return countRuns(this.#database, input);
  }

  selectRuns(input: RunSelection): { select: string; fields: Pick<ExportedField, "name" | "kind">[] } {
    const names = [
      "start_time",
      "id",
      ...input.fields.filter((name) => name !== "start_time" && name !== "id"),
    ];
    const fields = names.map(exportedField);
    const conditions = [
      raw`r.workspace_id = ${input.workspaceId}`,
      raw`r.project_id = ${input.projectId}`,
      raw`r.start_time >= ${input.from}`,
      raw`r.start_time < ${input.to}`,
    ];
    if (input.after !== null) {
      conditions.push(
        raw`(r.start_time, r.id) > (${input.after.startTime}::timestamptz, ${input.after.id}::uuid)`,
      );
    }
    conditions.push(...filterConditions(input));
    const statement = raw`select ${raw.raw(fields.map((field) => field.sql).join(", "))}
      from trace_runs r where ${raw.join(conditions, raw` and `)} order by r.start_time, r.id`;
    return {
      select: inlineParameters(this.#database.sql, statement),
      fields: fields.map(({ name, kind }) => ({ name, kind })),
    };
  }
}
