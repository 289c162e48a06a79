import { z } from "zod";
import { invalidField } from "../../platform/errors.ts";
import { noContent } from "../../platform/http/route.ts";
import { queryList } from "../../platform/http/validation/query.ts";
import { type AgentRoute, agentRoute } from "../auth/agent-route.ts";
import { metadataCondition } from "../auth/auth-filter.ts";
import { asks, runInPath, showsBody } from "../auth/route-rules.ts";
import { cancelActions } from "./run.ts";
import { type RunAnswers, streamRun } from "./run-responses.ts";
import { parseModes } from "./stream-modes.ts";

const editor = { kind: "agent", role: "editor", scope: "runs" } as const;
const viewer = { kind: "agent", role: "viewer", scope: ["read", "runs"] } as const;
const sse = { description: "Events of the run.", contentType: "text/event-stream" };
const tag = "Stateless runs";

/** Runs by their ids alone, without their threads. */
export function runByIdRoutes(answers: RunAnswers): AgentRoute[] {
  const { service } = answers;
  return [
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
          throw invalidField(["body"], "Send either `status`, or `thread_id` and `run_ids`.");
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
