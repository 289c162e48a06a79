import { z } from "zod";
import { invalidField } from "../../platform/errors.ts";
import { jsonText, type Route, route } from "../../platform/http/route.ts";
import { readSelects, v2ColumnsOf, writeV2Run } from "../query/run-v2-view.ts";
import { columnsOf, lightFields, readSelect, writeRun } from "../query/run-view.ts";
import { reads } from "../wire/access.ts";
import type { ExperimentRuns } from "./experiment-runs.ts";

const tag = "Datasets";
const id = z.guid().transform((text) => text.toLowerCase());
const params = z.object({ dataset_id: id });
const previewSelect = [...lightFields, "feedback_stats", "app_path", "latency"];
const compared = id
  .nullish()
  .describe(
    "A comparison of these experiments: `feedback_stats` leaves out feedback from other comparisons.",
  );
const withRuns = z.looseObject({ id: z.guid(), runs: z.array(z.looseObject({ id: z.guid() })) });
const filters = z.record(z.string(), z.array(z.string())).nullish().describe("By experiment: expressions.");

/** Examples with the runs that experiments made of them. */
export function experimentRunRoutes(runs: ExperimentRuns): Route[] {
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
        const { written, count } = await runs.rowsOf({
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
          200,
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
            .describe("Return only the beginnings of inputs, outputs and errors."),
        }),
        responses: { 200: { description: "A page of examples", schema: z.array(withRuns) } },
        errors: [404, 413],
      },
      async ({ caller, params, body }) => {
        const names = body.preview ? previewSelect : readSelect(null);
        const { written } = await runs.rowsOf({
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
        return jsonText(200, `[${written.join(",")}]`);
      },
    ),
  ];
}

const writeOffset = (offset: number) => Buffer.from(`from ${offset}`).toString("base64url");

function readOffset(cursor: string): number {
  const found = /^from (\d{1,9})$/.exec(Buffer.from(cursor, "base64url").toString());
  if (!found)
    throw invalidField(
      ["body", "cursor"],
      "This server did not return this cursor. Start again without a cursor.",
    );
  return Number(found[1]);
}
