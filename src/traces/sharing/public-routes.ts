import { z } from "zod";
import { AppError } from "../../platform/errors.ts";
import { json, type Route, route } from "../../platform/http/route.ts";
import { queryList } from "../../platform/http/validation/query.ts";
import { dataset, toWire as datasetToWire } from "../datasets/dataset-routes.ts";
import type { DatasetService } from "../datasets/dataset-service.ts";
import { example, toWire as exampleToWire } from "../datasets/example-routes.ts";
import type { ProjectService } from "../projects/project-service.ts";
import type { BoundedRead } from "../query/bounded-read.ts";
import { runNotFound, traceTooLarge } from "../query/run-query.ts";
import { jsonText } from "../query/run-query-routes.ts";
import { runView } from "../query/run-query-schemas.ts";
import { findTrace } from "../query/run-query-store.ts";
import { readSelects, v2ColumnsOf, writeV2Run, writeV2Runs } from "../query/run-v2-view.ts";
import { columnsOf, readSelect, writeRun, writeRuns } from "../query/run-view.ts";
import { page } from "../wire/list-query.ts";
import { notShared, type ShareService } from "./share-service.ts";

const tag = "Sharing";
const open = { kind: "open" } as const;
const id = z.guid().transform((text) => text.toLowerCase());
const params = z.object({ share_token: id });
const ids = queryList(id).optional();
const runV2 = z.looseObject({ id: z.guid() });
const maxTrace = 10_000;

/** What is shared, for whoever has the token. No key is asked for, and none is looked at. */
export function publicRoutes(options: {
  shares: ShareService;
  datasets: DatasetService;
  projects: ProjectService;
  read: BoundedRead;
}): Route[] {
  const { shares, datasets, projects, read } = options;

  async function traceOf(token: string, fields: Parameters<typeof findTrace>[3], only?: string[]) {
    const share = await shares.open(token, "trace");
    const query = {
      workspaceId: share.workspace_id,
      traceId: share.target_id,
      ids: only?.length ? only : undefined,
    };
    const found = await read((sql) => findTrace(sql, query, maxTrace, fields));
    if (found.next) throw traceTooLarge(share.target_id, "name the runs you want by id");
    if (found.rows.length === 0 && !query.ids) throw notShared();
    return { ...found, traceId: share.target_id };
  }
  async function v1Runs(token: string, only?: string[]): Promise<string> {
    const names = readSelect(null);
    return writeRuns((await traceOf(token, columnsOf(names), only)).rows, names);
  }
  async function v1Run(token: string, runId?: string): Promise<Response> {
    const names = readSelect(null);
    const { rows, traceId } = await traceOf(token, columnsOf(names), runId ? [runId] : undefined);
    const row = rows.find((each) => each.id === (runId ?? traceId)) ?? (runId ? undefined : rows[0]);
    if (!row) throw runNotFound(runId ?? traceId);
    return jsonText(writeRun(row, names));
  }
  async function datasetOf(token: string) {
    const share = await shares.open(token, "dataset");
    return datasets.get(share.workspace_id, share.target_id).catch((error: unknown) => {
      throw error instanceof AppError && error.kind === "not_found" ? notShared() : error;
    });
  }
  const oneRun = { 200: { description: "The run", schema: runView } };
  const listed = { 200: { description: "The runs of the trace", schema: z.array(runView) } };

  return [
    route(
      {
        method: "get",
        path: "/api/v1/public/{share_token}/run",
        operationId: "get_shared_run",
        summary: "The root of a shared trace",
        tag,
        access: open,
        params,
        responses: oneRun,
        errors: [404],
      },
      ({ params }) => v1Run(params.share_token),
    ),
    route(
      {
        method: "get",
        path: "/api/v1/public/{share_token}/run/{run_id}",
        operationId: "get_run_of_shared_trace",
        summary: "One run of a shared trace",
        tag,
        access: open,
        params: params.extend({ run_id: id }),
        responses: oneRun,
        errors: [404],
      },
      ({ params }) => v1Run(params.share_token, params.run_id),
    ),
    route(
      {
        method: "get",
        path: "/api/v1/public/{share_token}/runs",
        operationId: "list_shared_runs",
        summary: "The runs of a shared trace, in the order of its tree",
        tag,
        access: open,
        params,
        query: z.object({ id: ids }),
        responses: listed,
        errors: [404, 413],
      },
      async ({ params, query }) => jsonText(await v1Runs(params.share_token, query.id)),
    ),
    // The JavaScript client forgets the question mark before its query: runsshare_token=…&id=….
    route(
      {
        method: "get",
        path: "/api/v1/public/{share_token}/{asked}",
        operationId: "list_shared_runs_unmarked",
        summary: "The runs of a shared trace",
        tag,
        access: open,
        hidden: true,
        params: params.extend({ asked: z.string().max(20_000) }),
        responses: listed,
        errors: [404],
      },
      async ({ params }) => {
        const asked = /^runs(share_token=.*)$/.exec(params.asked);
        const only = z.array(id).safeParse(new URLSearchParams(asked?.[1]).getAll("id"));
        if (!asked || !only.success) throw notShared();
        return jsonText(await v1Runs(params.share_token, only.data));
      },
    ),
    route(
      {
        method: "post",
        path: "/api/v1/public/{share_token}/runs/query",
        operationId: "query_shared_runs",
        summary: "The runs of a shared trace, or some of them",
        tag,
        access: open,
        params,
        body: z.looseObject({ id: z.array(id).max(10_000).nullish() }),
        responses: {
          200: {
            description: "The runs, all in one page",
            schema: z.object({ runs: z.array(runView), cursors: z.object({ next: z.null() }) }),
          },
        },
        errors: [404, 413],
      },
      async ({ params, body }) =>
        jsonText(
          `{"runs":${await v1Runs(params.share_token, body.id ?? undefined)},"cursors":{"next":null}}`,
        ),
    ),
    route(
      {
        method: "post",
        path: "/api/v2/public/{share_token}/runs/query",
        operationId: "query_shared_runs_v2",
        summary: "The runs of a shared trace, in the order of its tree",
        tag,
        access: open,
        params,
        body: z.looseObject({ selects: z.array(z.string()).max(200).nullish() }),
        responses: { 200: { description: "The runs", schema: z.object({ items: z.array(runV2) }) } },
        errors: [404, 413],
      },
      async ({ params, body }) => {
        const names = readSelects(body.selects);
        const { rows } = await traceOf(params.share_token, v2ColumnsOf(names));
        return jsonText(`{"items":${writeV2Runs(rows, names)}}`);
      },
    ),
    route(
      {
        method: "get",
        path: "/api/v2/public/{share_token}/run/{run_id}",
        operationId: "get_shared_run_v2",
        summary: "One run of a shared trace",
        tag,
        access: open,
        params: params.extend({ run_id: id }),
        query: z.object({
          selects: queryList(z.string()).optional(),
          start_time: z.string().optional().describe("A hint; the run is found without it."),
        }),
        responses: { 200: { description: "The run", schema: runV2 } },
        errors: [404],
      },
      async ({ params, query }) => {
        const names = readSelects(query.selects);
        const { rows } = await traceOf(params.share_token, v2ColumnsOf(names), [params.run_id]);
        if (!rows[0]) throw runNotFound(params.run_id);
        return jsonText(writeV2Run(rows[0], names));
      },
    ),
    route(
      {
        method: "get",
        path: "/api/v1/public/{share_token}/datasets",
        operationId: "get_shared_dataset",
        summary: "A shared dataset",
        tag,
        access: open,
        params,
        responses: { 200: { description: "The dataset", schema: dataset } },
        errors: [404],
      },
      async ({ params }) => json(200, datasetToWire(await datasetOf(params.share_token))),
    ),
    route(
      {
        method: "get",
        path: "/api/v1/public/{share_token}/examples",
        operationId: "list_shared_examples",
        summary: "The examples of a shared dataset, without attachments",
        tag,
        access: open,
        params,
        query: z.object({ id: ids, ...page(1_000) }),
        responses: { 200: { description: "A page of examples", schema: z.array(example) } },
        errors: [404],
      },
      async ({ params, query }) => {
        const found = await datasetOf(params.share_token);
        const filter = { datasetId: found.id, ids: query.id, limit: query.limit, offset: query.offset };
        const examples = await datasets.listExamples(found.workspace_id, filter);
        return json(
          200,
          examples.map((each) => exampleToWire(each)),
        );
      },
    ),
    route(
      {
        method: "get",
        path: "/api/v1/public/{share_token}/datasets/sessions",
        operationId: "list_shared_experiments",
        summary: "The experiments on a shared dataset, by name and time",
        tag,
        access: open,
        params,
        query: z.object({
          id: ids,
          name: z.string().optional(),
          name_contains: z.string().optional(),
          ...page(100),
        }),
        responses: {
          200: {
            description: "A page of experiments",
            schema: z.array(z.looseObject({ id: z.guid(), name: z.string() })),
          },
        },
        errors: [404],
      },
      async ({ params, query }) => {
        const found = await datasetOf(params.share_token);
        const experiments = await projects.list(found.workspace_id, {
          referenceDatasets: [found.id],
          ...(query.id && { ids: query.id }),
          ...(query.name !== undefined && { name: query.name }),
          ...(query.name_contains !== undefined && { nameContains: query.name_contains }),
          limit: query.limit,
          offset: query.offset,
        });
        return json(
          200,
          experiments.map(
            ({ id, name, description, start_time, end_time, reference_dataset_id, workspace_id }) => ({
              id,
              name,
              description,
              start_time,
              end_time,
              reference_dataset_id,
              tenant_id: workspace_id,
            }),
          ),
        );
      },
    ),
    ...(["r", "d"] as const).map((kind) =>
      route(
        {
          method: "get",
          path: `/public/{share_token}/${kind}`,
          operationId: `open_shared_${kind === "r" ? "trace" : "dataset"}`,
          summary: "The address clients give out for what is shared: leads to it",
          tag,
          access: open,
          hidden: true,
          params,
          responses: { 302: { description: "To the shared trace or dataset, as JSON" } },
        },
        ({ params }) =>
          new Response(null, {
            status: 302,
            headers: {
              location: `/api/v1/public/${params.share_token}/${kind === "r" ? "runs" : "datasets"}`,
            },
          }),
      ),
    ),
  ];
}
