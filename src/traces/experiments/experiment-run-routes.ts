import { z } from "zod";
import type { Database } from "../../platform/db/database.ts";
import { AppError, invalidField } from "../../platform/errors.ts";
import { type Route, route } from "../../platform/http/route.ts";
import type { Example } from "../datasets/dataset.ts";
import type { DatasetService } from "../datasets/dataset-service.ts";
import { toWire } from "../datasets/example-routes.ts";
import type { Filter } from "../filter/filter.ts";
import { parseFilter } from "../filter/parse-filter.ts";
import type { BoundedRead } from "../query/bounded-read.ts";
import type { RunField, RunRow } from "../query/run-query.ts";
import { jsonText } from "../query/run-query-routes.ts";
import { findRuns } from "../query/run-query-store.ts";
import { readSelects, v2ColumnsOf, writeV2Run } from "../query/run-v2-view.ts";
import { columnsOf, lightFields, readSelect, writeRun } from "../query/run-view.ts";
import { reads } from "../wire/access.ts";
import { comparisonNotFound } from "./comparative-experiment-routes.ts";
import { findComparison, sumComparisonFeedback } from "./comparative-experiment-store.ts";

const tag = "Datasets";
const id = z.guid().transform((text) => text.toLowerCase());
const params = z.object({ dataset_id: id });
const maxRuns = 10_000;
const previewSelect = [...lightFields, "feedback_stats", "app_path", "latency"];
const compared = id
  .nullish()
  .describe("A comparison of these experiments: `feedback_stats` leave out what was given in others.");
const withRuns = z.looseObject({ id: z.guid(), runs: z.array(z.looseObject({ id: z.guid() })) });
const filters = z.record(z.string(), z.array(z.string())).nullish().describe("By experiment: expressions.");

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

/** Examples with the runs that experiments made of them. */
export function experimentRunRoutes({
  database,
  datasets,
  read,
}: {
  database: Database;
  datasets: DatasetService;
  read: BoundedRead;
}): Route[] {
  async function requireComparison({ workspaceId, datasetId, experimentIds, comparisonId }: Asked) {
    if (!comparisonId) return;
    const found = await findComparison(database.sql, workspaceId, comparisonId);
    if (!found || found.datasetId !== datasetId) throw comparisonNotFound(comparisonId);
    const stranger = experimentIds.find((each) => !found.experimentIds.includes(each));
    if (stranger === undefined) return;
    throw invalidField(
      ["body", "comparative_experiment_id"],
      `Experiment ${stranger} is not part of this comparison: ask for the experiments it compares`,
    );
  }

  async function withComparison(rows: RunRow[], { workspaceId, comparisonId, fields }: Asked) {
    if (!comparisonId || !fields.has("feedback_stats")) return rows;
    const runIds = rows.map((row) => row.id);
    const stats = await read((sql) => sumComparisonFeedback(sql, workspaceId, comparisonId, runIds));
    return rows.map((row) => ({ ...row, feedback_stats: stats.get(row.id) ?? null }));
  }

  async function rowsOf(asked: Asked): Promise<{ written: string[]; count: number }> {
    const { workspaceId, datasetId, limit, offset } = asked;
    await datasets.get(workspaceId, datasetId);
    await requireComparison(asked);
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
      const { rows, next } = await read((sql) => findRuns(sql, query, page, fields));
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
    const examples = await datasets.listExamples(workspaceId, { datasetId, ids, limit, offset });
    const shown = examples.map((each) => each.id);
    const byExample = new Map<string, string[]>();
    for (const projectId of examples.length > 0 ? asked.experimentIds : []) {
      const fields = new Set([...asked.fields, "reference_example_id" as const]);
      for (const row of await withComparison(await runsOf(projectId, shown, fields), asked)) {
        const of = row.reference_example_id!;
        byExample.set(of, [...(byExample.get(of) ?? []), asked.write(row)]);
      }
    }
    return {
      written: examples.map((each) => writeExample(each, byExample.get(each.id))),
      count: examples.length,
    };
  }

  return [
    route(
      {
        method: "post",
        path: "/api/v2/datasets/{dataset_id}/experiment-runs",
        operationId: "query_experiment_runs",
        summary: "Examples with the runs of experiments, by pages",
        tag,
        access: reads,
        params,
        body: z.looseObject({
          experiment_ids: z.array(id).min(1).max(100),
          example_ids: z.array(id).max(1_000).nullish(),
          comparative_experiment_id: compared,
          filters,
          selects: z.array(z.string()).nullish(),
          sort: z.looseObject({}).nullish().describe("Not served: 422."),
          page_size: z.int().min(1).max(100).nullish(),
          cursor: z.string().nullish(),
        }),
        responses: {
          200: {
            description: "A page of examples",
            schema: z.object({
              items: z.array(withRuns),
              next_cursor: z.string().nullable(),
              has_more: z.boolean(),
            }),
          },
        },
        errors: [404, 413],
      },
      async ({ caller, params, body }) => {
        if (body.sort) throw invalidField(["body", "sort"], "Examples are not sorted by feedback here");
        const names = readSelects(body.selects);
        const limit = body.page_size ?? 20;
        const offset = body.cursor ? readOffset(body.cursor) : 0;
        const { written, count } = await rowsOf({
          workspaceId: caller.workspaceId,
          datasetId: params.dataset_id,
          experimentIds: body.experiment_ids,
          comparisonId: body.comparative_experiment_id,
          exampleIds: body.example_ids ?? undefined,
          filters: body.filters,
          limit,
          offset,
          fields: v2ColumnsOf(names),
          write: (row) => writeV2Run(row, names),
        });
        const next = count === limit ? JSON.stringify(writeOffset(offset + limit)) : "null";
        return jsonText(
          `{"items":[${written.join(",")}],"next_cursor":${next},"has_more":${next !== "null"}}`,
        );
      },
    ),
    route(
      {
        method: "post",
        path: "/api/v1/datasets/{dataset_id}/runs",
        operationId: "list_experiment_runs",
        summary: "Examples with the runs of experiments",
        tag,
        access: reads,
        params,
        body: z.looseObject({
          session_ids: z.array(id).min(1).max(100),
          comparative_experiment_id: compared,
          filters,
          limit: z.int().min(1).max(100).nullish(),
          offset: z.int().min(0).nullish(),
          preview: z
            .boolean()
            .nullish()
            .describe("The beginnings of inputs, outputs and errors instead of the whole of them."),
        }),
        responses: { 200: { description: "A page of examples", schema: z.array(withRuns) } },
        errors: [404, 413],
      },
      async ({ caller, params, body }) => {
        const names = body.preview ? previewSelect : readSelect(null);
        const { written } = await rowsOf({
          workspaceId: caller.workspaceId,
          datasetId: params.dataset_id,
          experimentIds: body.session_ids,
          comparisonId: body.comparative_experiment_id,
          filters: body.filters,
          limit: body.limit ?? 20,
          offset: body.offset ?? 0,
          fields: columnsOf(names),
          write: (row) => writeRun(row, names),
        });
        return jsonText(`[${written.join(",")}]`);
      },
    ),
  ];
}

/** Half of what an experiment made of an example must not look like the whole. */
function tooManyRuns(projectId: string): AppError {
  return new AppError({
    code: "traces.experiment_runs_too_large",
    kind: "too_large",
    message: `The runs of experiment ${projectId} on these examples do not fit into one answer. Ask for fewer examples at once, fewer fields or previews, or a narrower filter.`,
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

const writeOffset = (offset: number) => Buffer.from(`from ${offset}`).toString("base64url");

function readOffset(cursor: string): number {
  const found = /^from (\d{1,9})$/.exec(Buffer.from(cursor, "base64url").toString());
  if (!found)
    throw invalidField(
      ["body", "cursor"],
      "The cursor is not one this server gave. Begin again without a cursor.",
    );
  return Number(found[1]);
}
