import { z } from "zod";
import { jsonObject } from "../../platform/http/json-object.ts";
import { json, jsonText } from "../../platform/http/route.ts";
import { type AgentRoute, agentRoute } from "../auth/agent-route.ts";
import { asks, threadInPath } from "../auth/route-rules.ts";
import { checkpointRef } from "../graphs/graph-call-schemas.ts";
import type { StateAddress } from "../graphs/state-snapshot.ts";
import { addressOf, type StateService } from "./state-service.ts";
import { toThreadView } from "./thread.ts";
import { historyBody, stateUpdateBody, stateUpdated, threadState, threadView } from "./thread-schemas.ts";
import type { ThreadService } from "./thread-service.ts";

const params = z.object({ thread_id: z.guid() });
const flag = z.enum(["0", "1", "true", "false"]).transform((text) => text === "1" || text === "true");
const subgraphs = z.object({ subgraphs: flag.default(false) });
const editor = { kind: "agent", role: "editor", scope: "runs" } as const;
const viewer = { kind: "agent", role: "viewer", scope: ["read", "runs"] } as const;
const state = { description: "The state.", schema: threadState };
const history = { description: "States, newest first.", schema: z.array(threadState) };
const tag = "Threads";

export function stateRoutes(states: StateService, threads: ThreadService): AgentRoute[] {
  return [
    agentRoute(
      {
        method: "patch",
        path: "/threads/{thread_id}/state",
        operationId: "patchThreadState",
        summary: "Merge metadata into a thread",
        description: "What the SDK's patchState sends; the same as patching the thread itself.",
        tag,
        access: editor,
        guard: asks("threads", "update", threadInPath),
        params,
        body: z.looseObject({ metadata: jsonObject }),
        responses: { 200: { description: "Done.", schema: threadView } },
        errors: [404],
      },
      async ({ caller, params: { thread_id }, body }) => {
        const patch = { metadata: body.metadata, ttl: undefined };
        return json(200, toThreadView(await threads.patch(caller.workspaceId, thread_id, patch)));
      },
    ),
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
        json(200, await states.get(caller.workspaceId, thread_id, query)),
    ),
    agentRoute(
      {
        method: "post",
        path: "/threads/{thread_id}/state",
        operationId: "updateThreadState",
        summary: "Change the state of a thread",
        tag,
        access: editor,
        guard: asks("threads", "update", threadInPath),
        params,
        body: stateUpdateBody,
        responses: { 200: { description: "The new checkpoint.", schema: stateUpdated } },
        errors: [400, 404, 409],
      },
      async ({ caller, params: { thread_id }, body }) => {
        const address =
          body.checkpoint ?? (body.checkpoint_id ? { checkpoint_id: body.checkpoint_id } : undefined);
        const updated = await states.update(caller.workspaceId, thread_id, {
          values: body.values ?? null,
          ...(body.as_node ? { asNode: body.as_node } : {}),
          ...(address ? { address } : {}),
        });
        return json(200, updated);
      },
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
        json(
          200,
          await states.get(caller.workspaceId, thread_id, { ...query, address: addressOf(checkpoint_id) }),
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
        json(
          200,
          await states.get(caller.workspaceId, thread_id, {
            subgraphs: body.subgraphs ?? false,
            address: body.checkpoint,
          }),
        ),
    ),
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
