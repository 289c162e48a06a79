import { z } from "zod";
import { AppError } from "../../platform/errors.ts";
import { json, type Route, route } from "../../platform/http/route.ts";
import { queryList } from "../../platform/http/validation/query.ts";
import type { DatasetService } from "../datasets/dataset-service.ts";
import { projectNotFound } from "../projects/project.ts";
import type { BoundedRead } from "../storage/bounded-read.ts";
import type { RunStatistics } from "../storage/run-storage.ts";
import { reads } from "../wire/access.ts";
import { comparisonNotFound } from "./comparative-experiment-routes.ts";
import { findComparison } from "./comparative-experiment-store.ts";
import { compareScores } from "./score-comparison.ts";
import { listExperimentsOf, listKeysWhereLessIsBetter } from "./score-comparison-store.ts";

const id = z.guid().transform((text) => text.toLowerCase());
const maxExperiments = 10;
const maxScores = 200_000;
/** As many as can be asked for by id in one request. */
const maxExamples = 1_000;

const examples = z.object({ count: z.int(), example_ids: z.array(z.guid()) });
const comparison = z
  .object({
    baseline_id: z.guid(),
    keys: z.array(
      z.object({
        key: z.string(),
        lower_is_better: z.boolean(),
        experiments: z.array(
          z.object({
            experiment_id: z.guid(),
            avg: z.number().nullable(),
            n: z.int().describe("Examples with a score."),
            better: z.int(),
            worse: z.int(),
            same: z.int(),
          }),
        ),
      }),
    ),
    worse: examples.describe(
      `A score is worse than the baseline's, or a run failed that did not fail before. At most ${maxExamples} ids.`,
    ),
    better: examples.describe("A score is better, and none is worse."),
  })
  .meta({ id: "ScoreComparison" });

/** Experiments of a dataset against the first of them. */
export function scoreComparisonRoutes(options: {
  datasets: DatasetService;
  read: BoundedRead;
  statistics: RunStatistics;
}): Route[] {
  const { datasets, read, statistics } = options;
  return [
    route(
      {
        method: "get",
        path: "/api/v1/datasets/{dataset_id}/comparison",
        operationId: "compare_experiments",
        summary: "Compare the scores of experiments with those of the first",
        tag: "Datasets",
        access: reads,
        params: z.object({ dataset_id: id }),
        query: z.object({
          experiment: queryList(id).describe("The first is the baseline."),
          comparative_experiment: id
            .optional()
            .describe("A comparison of these experiments: scores that were given in others are left out."),
        }),
        responses: { 200: { description: "By key, and by example", schema: comparison } },
        errors: [404, 413],
      },
      async ({ caller: { workspaceId }, params, query }) => {
        const ids = [...new Set(query.experiment)];
        await datasets.get(workspaceId, params.dataset_id);
        if (ids.length > maxExperiments) throw tooMany(`More than ${maxExperiments} experiments`);
        const comparisonId = query.comparative_experiment;
        if (comparisonId !== undefined) {
          const compared = await read((sql) => findComparison(sql, workspaceId, comparisonId));
          if (compared?.datasetId !== params.dataset_id) throw comparisonNotFound(comparisonId);
        }
        const known = await read((sql) => listExperimentsOf(sql, workspaceId, params.dataset_id, ids));
        const lower = await read((sql) => listKeysWhereLessIsBetter(sql, workspaceId));
        const asked = { ids, comparisonId, limit: maxScores + 1 };
        const { scores, outcomes } = await statistics.scores(workspaceId, asked);
        const stranger = ids.find((each) => !known.includes(each));
        if (stranger !== undefined) throw projectNotFound(stranger);
        if (scores.length > maxScores || outcomes.length > maxScores)
          throw tooMany(`More than ${maxScores} scores`);
        const { keys, worse, better } = compareScores(ids, scores, outcomes, new Set(lower));
        const cut = (list: string[]) => ({ count: list.length, example_ids: list.slice(0, maxExamples) });
        return json(200, { baseline_id: ids[0]!, keys, worse: cut(worse), better: cut(better) });
      },
    ),
  ];
}

function tooMany(what: string): AppError {
  return new AppError({
    code: "traces.experiment_runs_too_large",
    kind: "too_large",
    message: `${what} do not fit into one comparison. Compare fewer experiments at once.`,
  });
}
