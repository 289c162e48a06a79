import type { RowReader } from "../../../../platform/db/copy/row-reader.ts";
import type { Database } from "../../../../platform/db/database.ts";
import { inlineParameters } from "../../../../platform/db/inline-parameters.ts";
import { type RawBuilder, raw } from "../../../../platform/db/raw.ts";
import { parseFilter } from "../../../filter/parse-filter.ts";
import { type ExportedField, exportedFields } from "../../exported-fields.ts";
import { ExportedProjects } from "../../exported-projects.ts";
import type { CountRuns, RunCount, RunSelection } from "../../run-selection.ts";
import { copyReader } from "./copy-rows.ts";
import { filterConditions } from "./export-conditions.ts";
import { fieldSql } from "./exported-field.ts";
import { countRuns } from "./run-count.ts";

/** How exports read traces: what they may ask, in the words of their own port. */
export class RunExportSource {
  readonly #database: Database;
  readonly #databaseUrl: string;
  readonly #projects: ExportedProjects;

  /** `databaseUrl`: of the same database, for the threads that read it. */
  constructor(options: { database: Database; databaseUrl: string }) {
    this.#database = options.database;
    this.#databaseUrl = options.databaseUrl;
    this.#projects = new ExportedProjects(options.database);
  }

  checkFilter(filter: string, field: "filter" | "trace_filter"): void {
    parseFilter(filter, ["body", field]);
  }

  projectExists(workspaceId: string, projectId: string): Promise<boolean> {
    return this.#projects.exists(workspaceId, projectId);
  }

  listExperiments(workspaceId: string): Promise<string[]> {
    return this.#projects.listExperiments(workspaceId);
  }

  async listDays(input: { projectId: string; from: string; to: string }): Promise<string[]> {
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
      select to_char(day, 'YYYY-MM-DD') as day from days where day is not null order by 1`.execute(
      this.#database.sql,
    );
    return rows.map((row) => row.day);
  }

  countRuns(input: CountRuns): Promise<RunCount> {
    return countRuns(this.#database, input);
  }

  selectRuns(input: RunSelection): { reader: RowReader; fields: ExportedField[] } {
    const fields = exportedFields(input.fields);
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
    const statement = raw`select ${raw.raw(fields.map(fieldSql).join(", "))}
      from trace_runs r where ${raw.join(conditions, raw` and `)} order by r.start_time, r.id`;
    return {
      reader: copyReader({
        url: this.#databaseUrl,
        select: inlineParameters(this.#database.sql, statement),
      }),
      fields,
    };
  }
}
