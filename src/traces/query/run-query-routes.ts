import { z } from "zod";
import { AppError } from "../../platform/errors.ts";
import { json, jsonText, type Route, route } from "../../platform/http/route.ts";
import { queryList } from "../../platform/http/validation/query.ts";
import type { FaultContext } from "../filter/filter-error.ts";
import type { RunReading } from "../storage/run-storage.ts";
import { reads } from "../wire/access.ts";
import { type AttachmentUrlsOptions, attachmentUrls } from "./attachment-urls.ts";
import { readCursor, writeCursor } from "./run-cursor.ts";
import { runNotFound } from "./run-errors.ts";
import { runPage, runQueryBody, runView, traceView, validateBody, validation } from "./run-query-schemas.ts";
import { filterFields, readFilter, readRunQuery } from "./run-request.ts";
import { columnsOf, lightFields, readSelect, writeRun, writeRuns } from "./run-view.ts";

const tag = "Trace queries";
const maxPage = 100;
/** Of one trace: whole in one answer up to here. */
const maxTrace = 10_000;

export function runQueryRoutes(options: AttachmentUrlsOptions & { runs: RunReading }): Route[] {
  const { runs } = options;
  return [
    route(
      {
        method: "post",
        path: "/api/v1/runs/query",
        operationId: "queryTraceRuns",
        summary: "Find runs",
        tag,
        access: reads,
        body: runQueryBody,
        responses: { 200: { description: "A page of runs, newest first.", schema: runPage } },
      },
      async ({ request, caller, body }) => {
        const query = readRunQuery(caller.workspaceId, body);
        const limit = query.traceId ? maxTrace : Math.min(body.limit ?? maxPage, maxPage);
        const after = body.cursor ? readCursor(body.cursor, ["body", "cursor"]) : undefined;
        const names = readSelect(body.select);
        const page = { limit, order: body.order ?? "desc", after };
        const { rows, next } = await runs.find(query, page, columnsOf(names));
        const cursors = JSON.stringify({ next: next && writeCursor(next) });
        const parsed = JSON.stringify(body.filter ?? null);
        const ids = body.select?.includes("s3_urls") ? rows.map((row) => row.id!) : [];
        const urls = await attachmentUrls(options, request, caller.workspaceId, ids);
        return jsonText(
          200,
          `{"runs":${writeRuns(rows, names, urls)},"cursors":${cursors},"parsed_query":${parsed}}`,
        );
      },
    ),
    route(
      {
        method: "post",
        path: "/api/v1/runs/query/validate",
        operationId: "validateTraceRunQuery",
        summary: "Check the filters of a query",
        tag,
        access: reads,
        body: validateBody,
        responses: {
          200: { description: "Whether the filters are valid, and what is wrong.", schema: validation },
        },
      },
      ({ body }) => {
        const errors = filterFields.flatMap((field) => faultOf(() => readFilter(body, field), field));
        return json(200, { valid: errors.length === 0, errors });
      },
    ),
    route(
      {
        method: "get",
        path: "/api/v1/runs/{run_id}",
        operationId: "getTraceRun",
        summary: "One run",
        tag,
        access: reads,
        params: z.object({ run_id: z.guid() }),
        responses: { 200: { description: "The run.", schema: runView } },
        errors: [404],
      },
      async ({ request, caller, params }) => {
        const names = readSelect(null);
        const query = { workspaceId: caller.workspaceId, ids: [params.run_id] };
        const page = { limit: 1, order: "desc" } as const;
        const found = await runs.find(query, page, columnsOf(names));
        const [row] = found.rows;
        if (!row) throw runNotFound(params.run_id);
        const urls = await attachmentUrls(options, request, caller.workspaceId, [row.id!]);
        return jsonText(200, writeRun(row, names, urls.get(row.id!) ?? null));
      },
    ),
    route(
      {
        method: "get",
        path: "/api/v1/traces/{trace_id}",
        operationId: "getTrace",
        summary: "The runs of a trace, in the order of its tree",
        description:
          "Without payloads, unless `select` names them: a tree is drawn first and looked into later. `truncated`: there are more runs than fit into one answer; POST /api/v1/runs/query with `trace` pages through them.",
        tag,
        access: reads,
        params: z.object({ trace_id: z.guid() }),
        query: z.object({ select: queryList(z.string()).optional() }),
        responses: { 200: { description: "The trace.", schema: traceView } },
        errors: [404],
      },
      async ({ caller, params, query: { select } }) => {
        const traceId = params.trace_id.toLowerCase();
        const names = readSelect(select ?? lightFields);
        const query = { workspaceId: caller.workspaceId, traceId };
        const { rows, next } = await runs.findTrace(query, maxTrace, columnsOf(names));
        if (rows.length === 0) throw traceNotFound(traceId);
        const written = writeRuns(rows, names);
        return jsonText(200, `{"trace_id":"${traceId}","truncated":${next !== null},"runs":${written}}`);
      },
    ),
  ];
}

function traceNotFound(traceId: string): AppError {
  return new AppError({
    code: "traces.trace_not_found",
    kind: "not_found",
    message: `Trace ${traceId} not found in this workspace. It may not have arrived yet, or its project was deleted.`,
  });
}

function faultOf(read: () => unknown, field: string): z.output<typeof validation>["errors"] {
  try {
    read();
    return [];
  } catch (error) {
    if (!(error instanceof AppError) || !error.issues) throw error;
    return error.issues.map(({ msg, ctx }) => {
      const { expected = null, found = null, choices, ...rest } = ctx as FaultContext;
      return { field, message: msg, ...rest, expected, found, choices: choices ? [...choices] : null };
    });
  }
}
