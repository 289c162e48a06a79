import { z } from "zod";
import { queryList } from "../../platform/http/validation/query.ts";
import { type AgentRoute, agentRoute } from "../auth/agent-route.ts";
import { asks, threadInPath } from "../auth/route-rules.ts";
import { type RunAnswers, streamRun, waitForRun } from "./run-responses.ts";
import { parseModes } from "./stream-modes.ts";

const runParams = z.object({ thread_id: z.guid(), run_id: z.guid() });
const flag = z.enum(["0", "1", "true", "false"]).transform((text) => text === "1" || text === "true");
const anyJson = z.unknown();
const viewer = { kind: "agent", role: "viewer", scope: ["read", "runs"] } as const;
const sse = { description: "Events of the run.", contentType: "text/event-stream" };
const tag = "Runs";

/** Following a run of a thread that was started before. */
export function runJoinRoutes(answers: RunAnswers): AgentRoute[] {
  return [
    agentRoute(
      {
        method: "get",
        path: "/threads/{thread_id}/runs/{run_id}/join",
        operationId: "joinRun",
        summary: "Wait for a run and return its final values",
        tag,
        access: viewer,
        guard: asks("threads", "read", threadInPath),
        params: runParams,
        query: z.object({ cancel_on_disconnect: flag.optional() }),
        responses: { 200: { description: "Final values, or `__error__`.", schema: anyJson } },
        errors: [404],
      },
      async ({ caller, params, query, request }) => {
        const run = await answers.service.head(caller.workspaceId, params.run_id, params.thread_id);
        return waitForRun(
          answers,
          { run, result: undefined },
          {
            stateless: false,
            signal: request.signal,
            cancelOnDisconnect: query.cancel_on_disconnect ?? false,
          },
        );
      },
    ),
    agentRoute(
      {
        method: "get",
        path: "/threads/{thread_id}/runs/{run_id}/stream",
        operationId: "joinRunStream",
        summary: "Follow a run; with Last-Event-ID from where the client stopped",
        tag,
        access: viewer,
        guard: asks("threads", "read", { ...threadInPath, absenceAsEvent: true }),
        params: runParams,
        query: z.object({
          stream_mode: queryList(z.string()).optional(),
          cancel_on_disconnect: flag.optional(),
        }),
        responses: { 200: sse },
        errors: [404],
      },
      async ({ caller, params, query, request, connection }) => {
        const run = await answers.service.head(caller.workspaceId, params.run_id, params.thread_id);
        return streamRun(answers, run, {
          from: await answers.service.joinPoint(run, request.headers.get("last-event-id") ?? undefined),
          modes: parseModes(query.stream_mode),
          stateless: false,
          withIds: true,
          cancelOnDisconnect: query.cancel_on_disconnect ?? false,
          connection,
        });
      },
    ),
  ];
}
