import { z } from "zod";
import { jsonObject } from "../../platform/http/json-object.ts";
import { json } from "../../platform/http/route.ts";
import { type AgentRoute, agentRoute } from "../auth/agent-route.ts";
import { asks, threadInPath } from "../auth/route-rules.ts";
import type { StateService } from "./state-service.ts";
import { toThreadView } from "./thread.ts";
import { stateUpdateBody, stateUpdated, threadView } from "./thread-schemas.ts";
import type { ThreadService } from "./thread-service.ts";

const params = z.object({ thread_id: z.guid() });
const editor = { kind: "agent", role: "editor", scope: "runs" } as const;
const tag = "Threads";

/** Changing the state of a thread. */
export function stateChangeRoutes(states: StateService, threads: ThreadService): AgentRoute[] {
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
  ];
}
