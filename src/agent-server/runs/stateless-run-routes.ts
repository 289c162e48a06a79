import { z } from "zod";
import type { Caller } from "../../platform/http/access/caller.ts";
import { json, type RouteRequest, type RouteSpec } from "../../platform/http/route.ts";
import { type AgentRoute, agentRoute } from "../auth/agent-route.ts";
import { asksWhereMade } from "../auth/route-rules.ts";
import { type RunAnswers, streamRun, waitForRun } from "./run-responses.ts";
import { type RunCreateBody, runCreateBody, runView, toRunRequest, toRunView } from "./run-schemas.ts";

const editor = { kind: "agent", role: "editor", scope: "runs" } as const;
const sse = { description: "Events of the run.", contentType: "text/event-stream" };
const tag = "Stateless runs";
const maxBatch = 100;

/** Runs that bring their own thread, which goes with them unless it is to be kept. */
export function statelessRunRoutes(answers: RunAnswers): AgentRoute[] {
  const create = (
    { request, caller }: Pick<RouteRequest<RouteSpec>, "request"> & { caller: Caller },
    body: RunCreateBody,
  ) =>
    answers.service.create(caller.workspaceId, null, {
      ...toRunRequest(body, "own"),
      ...answers.callerOf(caller, request.headers),
    });
  return [
    agentRoute(
      {
        method: "post",
        path: "/runs",
        operationId: "createStatelessRun",
        summary: "Start a run on a new thread and return at once",
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
        summary: "Start a run on a new thread and stream its events",
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
        summary: "Start a run on a new thread and return its final values",
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
        summary: "Start many runs, each on a new thread",
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
  ];
}
