import { z } from "zod";
import { json } from "../../platform/http/route.ts";
import { type AgentRoute, agentRoute } from "../auth/agent-route.ts";
import { asksWhereMade } from "../auth/route-rules.ts";
import { type RunAnswers, runLocation, streamRun, waitForRun } from "./run-responses.ts";
import { runCreateBody, runView, toRunRequest, toRunView } from "./run-schemas.ts";

const threadParams = z.object({ thread_id: z.guid() });
const anyJson = z.unknown();
const editor = { kind: "agent", role: "editor", scope: "runs" } as const;
const sse = { description: "Events of the run.", contentType: "text/event-stream" };
const tag = "Runs";

/** Starting a run on a thread. */
export function runStartRoutes(answers: RunAnswers): AgentRoute[] {
  return [
    agentRoute(
      {
        method: "post",
        path: "/threads/{thread_id}/runs",
        operationId: "createRun",
        summary: "Start a run and return at once",
        tag,
        access: editor,
        guard: asksWhereMade,
        params: threadParams,
        body: runCreateBody,
        responses: { 200: { description: "The run.", schema: runView } },
        errors: [404, 409],
      },
      async ({ caller, params, body, request: { headers } }) => {
        const request = {
          ...toRunRequest(body, "given"),
          ...answers.callerOf(caller, headers),
        };
        const { run } = await answers.service.create(caller.workspaceId, params.thread_id, request);
        return json(200, toRunView(run), {
          "content-location": runLocation(run, false)["content-location"]!,
        });
      },
    ),
    agentRoute(
      {
        method: "post",
        path: "/threads/{thread_id}/runs/stream",
        operationId: "streamRun",
        summary: "Start a run and stream its events",
        tag,
        access: editor,
        guard: asksWhereMade,
        params: threadParams,
        body: runCreateBody,
        responses: { 200: sse },
        errors: [404, 409],
      },
      async ({ caller, params, body, request: { headers }, connection }) => {
        const request = {
          ...toRunRequest(body, "given"),
          ...answers.callerOf(caller, headers),
        };
        const { run, afterSeq } = await answers.service.create(caller.workspaceId, params.thread_id, request);
        return streamRun(answers, run, {
          from: { afterSeq },
          stateless: false,
          withIds: true,
          cancelOnDisconnect: body.on_disconnect === "cancel",
          connection,
        });
      },
    ),
    agentRoute(
      {
        method: "post",
        path: "/threads/{thread_id}/runs/wait",
        operationId: "waitRun",
        summary: "Start a run and return its final values",
        tag,
        access: editor,
        guard: asksWhereMade,
        params: threadParams,
        body: runCreateBody,
        responses: { 200: { description: "Final values, or `__error__`.", schema: anyJson } },
        errors: [404, 409],
      },
      async ({ caller, params, body, request: { headers, signal } }) => {
        const request = {
          ...toRunRequest(body, "given"),
          ...answers.callerOf(caller, headers),
        };
        const created = await answers.service.create(caller.workspaceId, params.thread_id, request);
        return waitForRun(answers, created, {
          stateless: false,
          signal,
          cancelOnDisconnect: body.on_disconnect === "cancel",
        });
      },
    ),
  ];
}
