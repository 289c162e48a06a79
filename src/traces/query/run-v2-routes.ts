import { z } from "zod";
import type { Clock } from "../../platform/clock.ts";
import { invalidField } from "../../platform/errors.ts";
import { jsonText, type Route, route } from "../../platform/http/route.ts";
import { queryList } from "../../platform/http/validation/query.ts";
import { parseFilter } from "../filter/parse-filter.ts";
import { feedbackSummary } from "../runs/feedback-summary.ts";
import { type Page, type RunQuery, sortFields } from "../storage/run-query.ts";
import type { RunReading } from "../storage/run-storage.ts";
import { reads } from "../wire/access.ts";
import { time } from "../wire/time-schema.ts";
import { readCursor, sortKindOf, writeCursor } from "./run-cursor.ts";
import { runNotFound, traceTooLarge } from "./run-errors.ts";
import { readFilter } from "./run-request.ts";
import { readSelects, v2ColumnsOf, writeV2Run, writeV2Runs } from "./run-v2-view.ts";

const tag = "Trace queries";
const maxTrace = 10_000;
const dayMs = 86_400_000;
const id = z.guid().transform((text) => text.toLowerCase());
const selects = queryList(z.string()).optional();
const text = z.string().optional();
const nullable = z.string().nullish();
/** Beside the id what `selects` names; these are the ones the pages read. */
const runV2 = z
  .looseObject({
    id: z.guid(),
    name: text,
    run_type: text,
    status: text,
    trace_id: text,
    project_id: text,
    start_time: text,
    end_time: nullable,
    latency_seconds: z.number().nullish(),
    total_tokens: z.int().optional(),
    total_cost: z.number().nullish(),
    tags: z.array(z.string()).optional(),
    thread_id: nullable,
    feedback_stats: feedbackSummary.nullish(),
    app_path: text,
    inputs_preview: nullable,
    outputs_preview: nullable,
    outputs_tail: nullable,
    error_preview: nullable,
  })
  .meta({ id: "TraceRunV2" });

const queryBody = z
  .looseObject({
    project_ids: z.array(id).max(10_000).nullish(),
    reference_dataset_id: id.nullish(),
    ids: z.array(id).max(10_000).nullish(),
    trace_id: id.nullish(),
    reference_examples: z.array(id).max(10_000).nullish(),
    run_type: z.string().nullish(),
    is_root: z.boolean().nullish(),
    has_error: z.boolean().nullish(),
    min_start_time: time.nullish().describe("Default: a day ago, unless a dataset is named."),
    max_start_time: time.nullish(),
    filter: z.string().nullish(),
    trace_filter: z.string().nullish(),
    tree_filter: z.string().nullish(),
    selects: z.array(z.string()).nullish(),
    page_size: z.int().min(1).max(1_000).nullish(),
    cursor: z.string().nullish(),
    sort: z
      .enum(sortFields)
      .nullish()
      .describe("Default: by the start. Runs without a value come last. Tags and feedback cannot be sorted."),
    order: z.enum(["asc", "desc"]).nullish().describe("Descending when left out."),
  })
  .meta({ id: "RunQueryV2" });

const page = z
  .object({ items: z.array(runV2), next_cursor: z.string().nullable(), has_more: z.boolean() })
  .meta({ id: "TraceRunPageV2" });

/** Whether a trace is shared, and under which token. */
export type Shares = {
  find(workspaceId: string, kind: "trace", traceId: string): Promise<{ token: string } | undefined>;
};

export type RunV2RoutesOptions = {
  runs: RunReading;
  clock: Clock;
  publicUrl?: (() => string) | undefined;
  shares?: Shares | undefined;
};

export function runV2Routes(options: RunV2RoutesOptions): Route[] {
  const { runs, clock } = options;
  return [
    route(
      {
        method: "post",
        path: "/api/v2/runs/query",
        operationId: "queryTraceRunsV2",
        summary: "Find runs",
        tag,
        access: reads,
        body: queryBody,
        responses: {
          200: { description: "A page of runs, newest first by default.", schema: page },
        },
      },
      async ({ caller, body }) => {
        const query = readV2Query(caller.workspaceId, body, clock.now());
        const limit = body.page_size ?? 100;
        const names = readSelects(body.selects);
        const asked: Page = { limit, order: body.order ?? "desc", sort: body.sort ?? undefined };
        const after = body.cursor
          ? readCursor(body.cursor, ["body", "cursor"], sortKindOf(asked))
          : undefined;
        const { rows, next } = await runs.find(query, { ...asked, after }, v2ColumnsOf(names));
        const cursor = JSON.stringify(next && writeCursor(next));
        const items = writeV2Runs(rows, names);
        return jsonText(200, `{"items":${items},"next_cursor":${cursor},"has_more":${next !== null}}`);
      },
    ),
    route(
      {
        method: "get",
        path: "/api/v2/runs/{run_id}",
        operationId: "getTraceRunV2",
        summary: "One run",
        tag,
        access: reads,
        params: z.object({ run_id: id }),
        query: z.object({
          project_id: id.optional(),
          selects,
          start_time: time.optional().describe("A hint; the run is found without it."),
        }),
        responses: { 200: { description: "The run.", schema: runV2 } },
        errors: [404],
      },
      async ({ request, caller, params, query: asked }) => {
        const names = readSelects(asked.selects);
        const projectIds = asked.project_id ? [asked.project_id] : undefined;
        const query = { workspaceId: caller.workspaceId, ids: [params.run_id], projectIds };
        const one = { limit: 1, order: "desc" } as const;
        const fields = v2ColumnsOf([...names, "trace_id"]);
        const found = await runs.find(query, one, fields);
        const [row] = found.rows;
        if (!row) throw runNotFound(params.run_id);
        const written = writeV2Run(row, names);
        if (!asked.selects?.some((name) => name.toLowerCase() === "share_url")) return jsonText(200, written);
        const url = await shareUrl(options, request, caller.workspaceId, row.trace_id!);
        return jsonText(200, `${written.slice(0, -1)},"share_url":${JSON.stringify(url)}}`);
      },
    ),
    route(
      {
        method: "get",
        path: "/api/v2/traces/{trace_id}/runs",
        operationId: "listTraceRunsV2",
        summary: "The runs of a trace, in the order of its tree",
        tag,
        access: reads,
        params: z.object({ trace_id: id }),
        query: z.object({
          project_id: id.optional(),
          selects,
          filter: z.string().optional(),
          min_start_time: time.optional(),
          max_start_time: time.optional(),
        }),
        responses: { 200: { description: "The runs.", schema: z.object({ items: z.array(runV2) }) } },
        errors: [413],
      },
      async ({ caller, params, query: asked }) => {
        const names = readSelects(asked.selects);
        const query = {
          workspaceId: caller.workspaceId,
          traceId: params.trace_id,
          projectIds: asked.project_id ? [asked.project_id] : undefined,
          since: asked.min_start_time,
          until: asked.max_start_time,
          filter: asked.filter ? parseFilter(asked.filter, ["query", "filter"]) : undefined,
        };
        const { rows, next } = await runs.findTrace(query, maxTrace, v2ColumnsOf(names));
        if (next)
          throw traceTooLarge(params.trace_id, "page through it with POST /api/v2/runs/query and trace_id");
        return jsonText(200, `{"items":${writeV2Runs(rows, names)}}`);
      },
    ),
  ];
}

function readV2Query(workspaceId: string, body: z.output<typeof queryBody>, now: Date): RunQuery {
  const projectIds = body.project_ids?.length ? body.project_ids : undefined;
  const datasetId = body.reference_dataset_id ?? undefined;
  if ((projectIds === undefined) === (datasetId === undefined)) {
    throw invalidField(
      ["body", "project_ids"],
      "Exactly one of project_ids and reference_dataset_id is needed",
    );
  }
  const dayAgo = new Date(now.getTime() - dayMs).toISOString();
  return {
    workspaceId,
    projectIds,
    datasetId,
    ids: body.ids?.length ? body.ids : undefined,
    traceId: body.trace_id ?? undefined,
    exampleIds: body.reference_examples?.length ? body.reference_examples : undefined,
    runType: body.run_type?.toLowerCase(),
    isRoot: body.is_root ?? undefined,
    hasError: body.has_error ?? undefined,
    since: body.min_start_time ?? (datasetId ? undefined : dayAgo),
    until: body.max_start_time ?? undefined,
    filter: readFilter(body, "filter"),
    traceFilter: readFilter(body, "trace_filter"),
    treeFilter: readFilter(body, "tree_filter"),
  };
}

/** `SHARE_URL`, for one run: null unless its trace is shared. */
async function shareUrl(
  { publicUrl, shares }: RunV2RoutesOptions,
  request: Request,
  workspaceId: string,
  traceId: string,
): Promise<string | null> {
  const share = await shares?.find(workspaceId, "trace", traceId);
  return share ? `${publicUrl?.() || new URL(request.url).origin}/public/${share.token}/r` : null;
}
