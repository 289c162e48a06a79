import type { Database } from "../../platform/db/database.ts";
import { AppError, invalidField } from "../../platform/errors.ts";
import type { Example } from "../datasets/dataset.ts";
import type { DatasetService } from "../datasets/dataset-service.ts";
import { toWire } from "../datasets/example-view.ts";
import type { Filter } from "../filter/filter.ts";
import { parseFilter } from "../filter/parse-filter.ts";
import type { BoundedRead } from "../storage/bounded-read.ts";
import type { RunField, RunRow } from "../storage/run-query.ts";
import type { RunReading } from "../storage/run-storage.ts";
import { comparisonNotFound } from "./comparative-experiment-routes.ts";
import { findComparison, sumComparisonFeedback } from "./comparative-experiment-store.ts";

const maxRuns = 10_000;

type Asked = {
  workspaceId: string;
  datasetId: string;
  experimentIds: string[];
  exampleIds?: string[] | undefined;
  filters?: Record<string, string[]> | null | undefined;
  limit: number;
  offset: number;
  comparisonId?: string | null | undefined;
  fields: Set<RunField>;
  write(row: RunRow): string;
};

export type ExperimentRunsOptions = {
  database: Database;
  datasets: DatasetService;
  read: BoundedRead;
  runs: RunReading;
};

/** Examples with the runs that experiments made of them, as JSON texts. */
export class ExperimentRuns {
  readonly #database: Database;
  readonly #datasets: DatasetService;
  readonly #read: BoundedRead;
  readonly #runs: RunReading;

  constructor(options: ExperimentRunsOptions) {
    this.#database = options.database;
    this.#datasets = options.datasets;
    this.#read = options.read;
    this.#runs = options.runs;
  }

  async rowsOf(asked: Asked): Promise<{ written: string[]; count: number }> {
    const { workspaceId, datasetId, limit, offset } = asked;
    await this.#datasets.get(workspaceId, datasetId);
    await this.#requireComparison(asked);
    const filters = asked.filters && Object.keys(asked.filters).length > 0 ? asked.filters : undefined;
    const runsOf = async (projectId: string, exampleIds: string[] | undefined, fields: Set<RunField>) => {
      const query = {
        workspaceId,
        projectIds: [projectId],
        exampleIds,
        isRoot: true,
        filter: filterOf(filters?.[projectId]),
      };
      const page = { limit: maxRuns, order: "asc" } as const;
      const { rows, next } = await this.#runs.find(query, page, fields);
      if (next) throw tooManyRuns(projectId);
      return rows;
    };
    let ids = asked.exampleIds?.length ? asked.exampleIds : undefined;
    if (filters) {
      // Pages count what is shown: only examples that have a run the filters find.
      const found = new Set<string>();
      for (const projectId of asked.experimentIds) {
        const rows = await runsOf(projectId, ids, new Set(["reference_example_id"]));
        for (const row of rows) if (row.reference_example_id) found.add(row.reference_example_id);
      }
      ids = [...found];
    }
    const examples = await this.#datasets.listExamples(workspaceId, { datasetId, ids, limit, offset });
    const shown = examples.map((each) => each.id);
    const byExample = new Map<string, string[]>();
    for (const projectId of examples.length > 0 ? asked.experimentIds : []) {
      const fields = new Set([...asked.fields, "reference_example_id" as const]);
      for (const row of await this.#withComparison(await runsOf(projectId, shown, fields), asked)) {
        const of = row.reference_example_id!;
        byExample.set(of, [...(byExample.get(of) ?? []), asked.write(row)]);
      }
    }
    return {
      written: examples.map((each) => writeExample(each, byExample.get(each.id))),
      count: examples.length,
    };
  }

  async #requireComparison({ workspaceId, datasetId, experimentIds, comparisonId }: Asked) {
    if (!comparisonId) return;
    const found = await findComparison(this.#database.sql, workspaceId, comparisonId);
    if (!found || found.datasetId !== datasetId) throw comparisonNotFound(comparisonId);
    const stranger = experimentIds.find((each) => !found.experimentIds.includes(each));
    if (stranger === undefined) return;
    throw invalidField(
      ["body", "comparative_experiment_id"],
      `Experiment ${stranger} is not part of this comparison: send the experiments it compares`,
    );
  }

  async #withComparison(rows: RunRow[], { workspaceId, comparisonId, fields }: Asked) {
    if (!comparisonId || !fields.has("feedback_stats")) return rows;
    const runIds = rows.map((row) => row.id);
    const stats = await this.#read((sql) => sumComparisonFeedback(sql, workspaceId, comparisonId, runIds));
    return rows.map((row) => ({ ...row, feedback_stats: stats.get(row.id) ?? null }));
  }
}

/** Half of what an experiment made of an example must not look like the whole. */
function tooManyRuns(projectId: string): AppError {
  return new AppError({
    code: "traces.experiment_runs_too_large",
    kind: "too_large",
    message: `The runs of experiment ${projectId} on these examples do not fit into one response. Request fewer examples at once, fewer fields or previews, or use a narrower filter.`,
  });
}

function writeExample(example: Example, runs: readonly string[] = []): string {
  return `${JSON.stringify(toWire(example)).slice(0, -1)},"runs":[${runs.join(",")}]}`;
}

function filterOf(texts: readonly string[] | undefined): Filter | undefined {
  const parts = (texts ?? []).map(
    (text): Filter => ({
      kind: "and",
      parts: [parseFilter(text, ["body", "filters"])],
    }),
  );
  return parts.length === 0 ? undefined : { kind: "and", parts };
}
