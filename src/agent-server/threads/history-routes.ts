import { z } from "zod";
import { jsonText } from "../../platform/http/route.ts";
import { type AgentRoute, agentRoute } from "../auth/agent-route.ts";
import { asks, threadInPath } from "../auth/route-rules.ts";
import type { StateAddress } from "../graphs/state-snapshot.ts";
import type { StateService } from "./state-service.ts";
import { historyBody, threadState } from "./thread-schemas.ts";

const params = z.object({ thread_id: z.guid() });
const viewer = { kind: "agent", role: "viewer", scope: ["read", "runs"] } as const;
const history = { description: "States, newest first.", schema: z.array(threadState) };
const tag = "Threads";

/** Earlier states of a thread. */
export function historyRoutes(states: StateService): AgentRoute[] {
  return [
    agentRoute(
      {
        method: "get",
        path: "/threads/{thread_id}/history",
        operationId: "getThreadHistory",
        summary: "Earlier states of a thread",
        tag,
        access: viewer,
        guard: asks("threads", "read", threadInPath),
        params,
        query: z.object({
          limit: z.coerce.number().int().min(1).max(1000).default(10),
          before: z.string().optional(),
        }),
        responses: { 200: history },
        errors: [404],
      },
      async ({ caller, params: { thread_id }, query }) =>
        jsonText(
          200,
          await states.historyJson(caller.workspaceId, thread_id, {
            limit: query.limit,
            ...(query.before ? { before: { checkpoint_id: query.before } } : {}),
          }),
        ),
    ),
    agentRoute(
      {
        method: "post",
        path: "/threads/{thread_id}/history",
        operationId: "searchThreadHistory",
        summary: "Earlier states of a thread, filtered",
        tag,
        access: viewer,
        guard: asks("threads", "read", threadInPath),
        params,
        body: historyBody,
        responses: { 200: history },
        errors: [404],
      },
      async ({ caller, params: { thread_id }, body }) =>
        jsonText(
          200,
          await states.historyJson(caller.workspaceId, thread_id, {
            limit: body.limit,
            ...(body.before ? { before: asAddress(body.before) } : {}),
            ...(body.checkpoint ? { address: body.checkpoint } : {}),
            ...(body.metadata ? { filter: body.metadata } : {}),
          }),
        ),
    ),
  ];
}

/** `before` is a checkpoint, its id, or a config that carries it. */
function asAddress(before: string | Record<string, unknown>): StateAddress {
  if (typeof before === "string") return { checkpoint_id: before };
  const { configurable } = before;
  return (typeof configurable === "object" && configurable !== null ? configurable : before) as StateAddress;
}
