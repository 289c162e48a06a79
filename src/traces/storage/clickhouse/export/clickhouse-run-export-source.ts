import type { ClickHouse } from "../../../../platform/clickhouse/clickhouse.ts";
import type { RowReader } from "../../../../platform/db/copy/row-reader.ts";
import type { Database } from "../../../../platform/db/database.ts";
import { parseFilter } from "../../../filter/parse-filter.ts";
import { type ExportedField, exportedFields, isFeedbackField } from "../../exported-fields.ts";
import { ExportedProjects } from "../../exported-projects.ts";
import type { CountRuns, RunCount, RunSelection } from "../../run-selection.ts";
import { timeOf } from "../filter/compile-field.ts";
import { Values } from "../filter/condition.ts";
import { ClickHouseFileWriting } from "./clickhouse-file-writing.ts";
import { exportConditions, fieldSql } from "./exported-runs.ts";
import { inlineValues } from "./inline-values.ts";
import { rowReader } from "./read-rows.ts";
import { countRuns } from "./run-count.ts";

export type ClickHouseExportOptions = {
  clickHouse: ClickHouse;
  /** Of the same server, for the threads that read it. */
  url: string;
  /** Where projects and feedback are. */
  database: Database;
  databaseUrl: string;
  /** Whether the server writes the files itself where it can. */
  byEngine: boolean;
  /** How much of what was said goes with one of its statements. */
  mostFeedbackBytes?: number;
  /** How long it waits before it asks, again, how many rows a file has that the server writes. */
  askEveryMs?: number;
};

/** How exports read runs that are in ClickHouse. */
export class ClickHouseRunExportSource {
  readonly #options: ClickHouseExportOptions;
  readonly #projects: ExportedProjects;
  readonly engine: ClickHouseFileWriting | undefined;

  constructor(options: ClickHouseExportOptions) {
    this.#options = options;
    this.#projects = new ExportedProjects(options.database);
    this.engine = options.byEngine ? new ClickHouseFileWriting(options) : undefined;
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

  async listDays(input: { workspaceId: string; projectId: string; from: string; to: string }) {
    const values = new Values();
    const time = timeOf(values);
    // As the rows are, without merging them: a day whose runs have all moved away is found too, and has nothing to write.
    const found = await this.#options.clickHouse.rows<{ day: string }>(
      `select distinct toString(toDate32(start_time)) as day from trace_runs
        where workspace_id = ${values.bind(input.workspaceId, "UUID")} and project_id = ${values.bind(input.projectId, "UUID")}
          and start_time >= ${time(input.from)} and start_time < ${time(input.to)} order by day`,
      { params: values.params },
    );
    return found.map(({ day }) => day);
  }

  countRuns(input: CountRuns): Promise<RunCount> {
    return countRuns(this.#options.clickHouse, input);
  }

  selectRuns(input: RunSelection): { reader: RowReader; fields: ExportedField[] } {
    const { url, databaseUrl } = this.#options;
    const fields = exportedFields(input.fields);
    const values = new Values();
    const conditions = exportConditions({ ...input, projectIds: [input.projectId] }, values);
    const selected = fields.filter(({ name }) => !isFeedbackField(name)).map(fieldSql);
    const statement = `select ${selected.join(", ")} from trace_runs final where ${conditions}
      order by start_time, id format RowBinary`;
    const reader = rowReader({
      ...{ url, databaseUrl, workspaceId: input.workspaceId },
      select: inlineValues(statement, values),
      fields: fields.map(({ name, kind }) => (isFeedbackField(name) ? "given" : kind)),
      feedback: fields.map(({ name }) => name).filter(isFeedbackField),
    });
    return { reader, fields };
  }
}
