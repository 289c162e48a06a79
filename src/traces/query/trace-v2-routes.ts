import { z } from "zod";
import type { Clock } from "../../platform/clock.ts";
import { json, jsonText, type Route, route } from "../../platform/http/route.ts";
import type { RunField, RunQuery } from "../storage/run-query.ts";
import type { RunReading } from "../storage/run-storage.ts";
import { reads } from "../wire/access.ts";
import { time } from "../wire/time-schema.ts";
import { readCursor, writeCursor } from "./run-cursor.ts";
import { runNotFound } from "./run-errors.ts";
import { readFilter } from "./run-request.ts";
import { readSelects, v2ColumnsOf, writeV2Run } from "./run-v2-view.ts";
import { appPath } from "./run-view.ts";

const tag = "Trace queries";
const dayMs = 86_400_000;
const id = z.guid().transform((text) => text.toLowerCase());
const text = z.string().nullish();

/** A root's own numbers are those of its whole trace; they are answered apart. */
const aggregates = new Set(["total_tokens", "total_cost", "first_token_time"]);

const queryBody = z
  .looseObject({
    project_id: id,
    trace_ids: z.array(id).max(10_000).nullish(),
    min_start_time: time.nullish().describe("Default: a day ago, unless traces are named."),
    max_start_time: time.nullish(),
    trace_filter: text,
    tree_filter: text,
    selects: z.array(z.string()).nullish(),
    page_size: z.int().min(1).max(1_000).nullish(),
    cursor: text,
  })
  .meta({ id: "TraceQueryV2" });

export function traceV2Routes(options: {
  runs: RunReading;
  clock: Clock;
  publicUrl?: (() => string) | undefined;
}): Route[] {
  const { runs, clock, publicUrl } = options;
  return [
    route(
      {
        method: "post",
        path: "/api/v2/traces/query",
        operationId: "queryTracesV2",
        summary: "Find traces, newest first",
        tag,
        access: reads,
        body: queryBody,
        responses: {
          200: {
            description: "A page of traces: the root, and numbers of the whole trace.",
            schema: z.object({
              items: z.array(z.looseObject({ root_run: z.looseObject({ id: z.guid() }) })),
              next_cursor: z.string().nullable(),
              has_more: z.boolean(),
            }),
          },
        },
      },
      async ({ caller, body }) => {
        const ids = body.trace_ids?.length ? body.trace_ids : undefined;
        const dayAgo = new Date(clock.now().getTime() - dayMs).toISOString();
        const query: RunQuery = {
          workspaceId: caller.workspaceId,
          projectIds: [body.project_id],
          ids,
          isRoot: true,
          since: body.min_start_time ?? (ids ? undefined : dayAgo),
          until: body.max_start_time ?? undefined,
          traceFilter: readFilter(body, "trace_filter"),
          treeFilter: readFilter(body, "tree_filter"),
        };
        const names = readSelects(body.selects);
        const ofRoot = names.filter((name) => !aggregates.has(name));
        const ofTrace = names.filter((name) => aggregates.has(name));
        const after = body.cursor ? readCursor(body.cursor, ["body", "cursor"]) : undefined;
        const page = { limit: body.page_size ?? 20, order: "desc", after } as const;
        const { rows, next } = await runs.find(query, page, v2ColumnsOf(names));
        const items = rows.map((row) => {
          const sums = ofTrace.length > 0 ? `,"trace_aggregates":${writeV2Run(row, ofTrace)}` : "";
          return `{"root_run":${writeV2Run(row, ofRoot)}${sums}}`;
        });
        const cursor = JSON.stringify(next && writeCursor(next));
        return jsonText(
          200,
          `{"items":[${items.join(",")}],"next_cursor":${cursor},"has_more":${next !== null}}`,
        );
      },
    ),
    route(
      {
        method: "get",
        path: "/api/v2/runs/{run_id}/url",
        operationId: "getTraceRunUrl",
        summary: "Redirect to a run's page in the console",
        tag,
        access: reads,
        params: z.object({ run_id: id }),
        query: z.object({
          project_id: id.optional(),
          trace_id: id.optional(),
          start_time: time.optional().describe("A hint; the run is found without it."),
        }),
        responses: { 200: { description: "The address.", schema: z.object({ url: z.string() }) } },
        errors: [404],
      },
      async ({ request, caller, params, query: asked }) => {
        const projectIds = asked.project_id ? [asked.project_id] : undefined;
        const query = {
          workspaceId: caller.workspaceId,
          ids: [params.run_id],
          projectIds,
          traceId: asked.trace_id,
        };
        const fields = new Set<RunField>(["id", "session_id", "tenant_id"]);
        const found = await runs.find(query, { limit: 1, order: "desc" }, fields);
        const [row] = found.rows;
        if (!row) throw runNotFound(params.run_id);
        const base = publicUrl?.() || new URL(request.url).origin;
        return json(200, { url: `${base}${appPath(row)}` });
      },
    ),
  ];
}
