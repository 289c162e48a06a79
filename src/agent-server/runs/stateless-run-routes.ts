import { z } from "zod";
import { invalidField } from "../../platform/errors.ts";
import type { Caller } from "../../platform/http/access/caller.ts";
import { json, noContent, type RouteRequest, type RouteSpec } from "../../platform/http/route.ts";
import { queryList } from "../../platform/http/validation/query.ts";
import { type AgentRoute, agentRoute } from "../auth/agent-route.ts";
import { metadataCondition } from "../auth/auth-filter.ts";
import { asks, asksWhereMade, runInPath, showsBody } from "../auth/route-rules.ts";
import { cancelActions } from "./run.ts";
import { type RunAnswers, streamRun, waitForRun } from "./run-responses.ts";
import { parseModes } from "./run-routes.ts";
import { type RunCreateBody, runCreateBody, runView, toRunRequest, toRunView } from "./run-schemas.ts";

const editor = { kind: "agent", role: "editor", scope: "runs" } as const;
const viewer = { kind: "agent", role: "viewer", scope: ["read", "runs"] } as const;
const sse = { description: "Events of the run.", contentType: "text/event-stream" };
const tag = "Stateless runs";
const maxBatch = 100;

/** Runs that bring their own thread, which goes with them unless it is to be kept. */
export function statelessRunRoutes(answers: RunAnswers): AgentRoute[] {
  const { service } = answers;
  const create = (
    { request, caller }: Pick<RouteRequest<RouteSpec>, "request"> & { caller: Caller },
    body: RunCreateBody,
  ) =>
    service.create(caller.workspaceId, null, {
      ...toRunRequest(body, "own"),
      ...answers.callerOf(caller, request.headers),
    });
  return [
    agentRoute(
      {
        method: "post",
        path: "/runs",
        operationId: "createStatelessRun",
        summary: "Start a run on a thread of its own and return at once",
        tag,
        access: editor,
        guard: asksWhereMade,
        body: runCreateBody,
        responses: { 200: { description: "The run.", schema: runView } },
        errors: [404],
      },
      async (request) => {
        const { run } = await create(request, request.body);
        return json(200, toRunView(run), {
          "content-location": `/threads/${run.thread_id}/runs/${run.run_id}`,
        });
      },
    ),
    agentRoute(
      {
        method: "post",
        path: "/runs/stream",
        operationId: "streamStatelessRun",
        summary: "Start a run on a thread of its own and stream its events",
        tag,
        access: editor,
        guard: asksWhereMade,
        body: runCreateBody,
        responses: { 200: sse },
        errors: [404],
      },
      async (request) => {
        const { run, afterSeq } = await create(request, request.body);
        return streamRun(answers, run, {
          from: { afterSeq },
          stateless: true,
          withIds: false,
          cancelOnDisconnect: request.body.on_disconnect === "cancel",
          connection: request.connection,
        });
      },
    ),
    agentRoute(
      {
        method: "post",
        path: "/runs/wait",
        operationId: "waitStatelessRun",
        summary: "Start a run on a thread of its own and return its final values",
        tag,
        access: editor,
        guard: asksWhereMade,
        body: runCreateBody,
        responses: { 200: { description: "Final values, or `__error__`.", schema: z.unknown() } },
        errors: [404],
      },
      async (request) =>
        waitForRun(answers, await create(request, request.body), {
          stateless: true,
          signal: request.request.signal,
          cancelOnDisconnect: request.body.on_disconnect === "cancel",
        }),
    ),
    agentRoute(
      {
        method: "post",
        path: "/runs/batch",
        operationId: "batchStatelessRuns",
        summary: "Start many runs, each on a thread of its own",
        tag,
        access: editor,
        guard: asksWhereMade,
        body: z.array(runCreateBody).min(1).max(maxBatch),
        responses: { 200: { description: "The runs, in order.", schema: z.array(runView) } },
        errors: [404],
      },
      async (request) => {
        const created = await Promise.all(request.body.map((body) => create(request, body)));
        return json(
          200,
          created.map(({ run }) => toRunView(run)),
        );
      },
    ),
    agentRoute(
      {
        method: "post",
        path: "/runs/cancel",
        operationId: "cancelRuns",
        summary: "Stop many runs, by status or by id",
        tag,
        access: editor,
        guard: asks("threads", "update", showsBody),
        query: z.object({ action: z.enum(cancelActions).default("interrupt") }),
        body: z.looseObject({
          status: z.enum(["pending", "running", "all"]).nullish(),
          thread_id: z.guid().nullish(),
          run_ids: z.array(z.guid()).max(1000).nullish(),
        }),
        responses: { 204: { description: "Asked to stop." } },
        errors: [404],
      },
      async ({ caller, body, query }) => {
        const byId = Boolean(body.thread_id || body.run_ids);
        if (byId === Boolean(body.status)) {
          throw invalidField(["body"], "Give either `status`, or `thread_id` and `run_ids`.");
        }
        await service.cancelMany(
          caller.workspaceId,
          {
            ...(body.status ? { status: body.status } : {}),
            ...(body.thread_id ? { threadId: body.thread_id } : {}),
            ...(body.run_ids ? { runIds: body.run_ids } : {}),
            threadCondition: metadataCondition(caller.rowFilter),
          },
          query.action,
        );
        return noContent();
      },
    ),
    agentRoute(
      {
        method: "get",
        path: "/runs/{run_id}/stream",
        operationId: "joinStatelessRunStream",
        summary: "Follow a run by its id alone",
        tag,
        access: viewer,
        guard: asks("threads", "read", runInPath),
        params: z.object({ run_id: z.guid() }),
        query: z.object({ stream_mode: queryList(z.string()).optional() }),
        responses: { 200: sse },
        errors: [404],
      },
      async ({ caller, params, query, request, connection }) => {
        const run = await service.head(caller.workspaceId, params.run_id);
        return streamRun(answers, run, {
          from: await service.joinPoint(run, request.headers.get("last-event-id") ?? "-1"),
          modes: parseModes(query.stream_mode),
          stateless: true,
          withIds: true,
          cancelOnDisconnect: false,
          connection,
        });
      },
    ),
  ];
}
