import { z } from "zod";
import { jsonText, type Route, route } from "../../platform/http/route.ts";
import { queryList } from "../../platform/http/validation/query.ts";
import { runNotFound } from "../query/run-errors.ts";
import { runView } from "../query/run-query-schemas.ts";
import { columnsOf, readSelect, writeRun, writeRuns } from "../query/run-view.ts";
import { notShared } from "./share-service.ts";
import { type SharedTraces, sharedTrace } from "./shared-trace.ts";

const tag = "Sharing";
const open = { kind: "open" } as const;
const id = z.guid().transform((text) => text.toLowerCase());
const params = z.object({ share_token: id });
const ids = queryList(id).optional();
const oneRun = { 200: { description: "The run", schema: runView } };
const listed = { 200: { description: "The runs of the trace", schema: z.array(runView) } };

/** A shared trace, for everyone with the token. No key is needed, and none is read. */
export function publicRunRoutes(traces: SharedTraces): Route[] {
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
      ({ params }) => v1Run(traces, params.share_token),
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
      ({ params }) => v1Run(traces, params.share_token, params.run_id),
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
      async ({ params, query }) => jsonText(200, await v1Runs(traces, params.share_token, query.id)),
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
        return jsonText(200, await v1Runs(traces, params.share_token, only.data));
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
          200,
          `{"runs":${await v1Runs(traces, params.share_token, body.id ?? undefined)},"cursors":{"next":null}}`,
        ),
    ),
  ];
}

async function v1Runs(traces: SharedTraces, token: string, only?: string[]): Promise<string> {
  const names = readSelect(null);
  return writeRuns((await sharedTrace(traces, token, columnsOf(names), only)).rows, names);
}

async function v1Run(traces: SharedTraces, token: string, runId?: string): Promise<Response> {
  const names = readSelect(null);
  const { rows, traceId } = await sharedTrace(traces, token, columnsOf(names), runId ? [runId] : undefined);
  const row = rows.find((each) => each.id === (runId ?? traceId)) ?? (runId ? undefined : rows[0]);
  if (!row) throw runNotFound(runId ?? traceId);
  return jsonText(200, writeRun(row, names));
}
