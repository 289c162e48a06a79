import { z } from "zod";
import { jsonText } from "../../platform/http/route.ts";
import { type AgentRoute, agentRoute } from "../auth/agent-route.ts";
import { asks, threadInPath } from "../auth/route-rules.ts";
import { checkpointRef } from "../graphs/graph-call-schemas.ts";
import { addressOf, type StateService } from "./state-service.ts";
import { threadState } from "./thread-schemas.ts";

const params = z.object({ thread_id: z.guid() });
const flag = z.enum(["0", "1", "true", "false"]).transform((text) => text === "1" || text === "true");
const subgraphs = z.object({ subgraphs: flag.default(false) });
const viewer = { kind: "agent", role: "viewer", scope: ["read", "runs"] } as const;
const state = { description: "The state.", schema: threadState };
const tag = "Threads";

/** Reading the state of a thread. */
export function stateRoutes(states: StateService): AgentRoute[] {
  return [
    agentRoute(
      {
        method: "get",
        path: "/threads/{thread_id}/state",
        operationId: "getThreadState",
        summary: "The latest state of a thread",
        tag,
        access: viewer,
        guard: asks("threads", "read", threadInPath),
        params,
        query: subgraphs,
        responses: { 200: state },
        errors: [404],
      },
      async ({ caller, params: { thread_id }, query }) =>
        jsonText(200, await states.getJson(caller.workspaceId, thread_id, query)),
    ),
    agentRoute(
      {
        method: "get",
        path: "/threads/{thread_id}/state/{checkpoint_id}",
        operationId: "getThreadStateAt",
        summary: "The state of a thread at a checkpoint",
        tag,
        access: viewer,
        guard: asks("threads", "read", threadInPath),
        params: params.extend({ checkpoint_id: z.string() }),
        query: subgraphs,
        responses: { 200: state },
        errors: [404],
      },
      async ({ caller, params: { thread_id, checkpoint_id }, query }) =>
        jsonText(
          200,
          await states.getJson(caller.workspaceId, thread_id, {
            ...query,
            address: addressOf(checkpoint_id),
          }),
        ),
    ),
    agentRoute(
      {
        method: "post",
        path: "/threads/{thread_id}/state/checkpoint",
        operationId: "getThreadStateAtCheckpoint",
        summary: "The state of a thread, or of a subgraph, at a checkpoint",
        tag,
        access: viewer,
        guard: asks("threads", "read", threadInPath),
        params,
        body: z.looseObject({ checkpoint: checkpointRef, subgraphs: z.boolean().nullish() }),
        responses: { 200: state },
        errors: [404],
      },
      async ({ caller, params: { thread_id }, body }) =>
        jsonText(
          200,
          await states.getJson(caller.workspaceId, thread_id, {
            subgraphs: body.subgraphs ?? false,
            address: body.checkpoint,
          }),
        ),
    ),
  ];
}
