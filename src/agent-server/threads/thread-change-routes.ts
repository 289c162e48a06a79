import { z } from "zod";
import { json, noContent } from "../../platform/http/route.ts";
import { type AgentRoute, agentRoute } from "../auth/agent-route.ts";
import { metadataCondition } from "../auth/auth-filter.ts";
import { asks, changesBody, threadInPath } from "../auth/route-rules.ts";
import type { StateService } from "./state-service.ts";
import { type ThreadTtl, toThreadView } from "./thread.ts";
import { threadCreateBody, threadPatchBody, threadView } from "./thread-schemas.ts";
import type { ThreadService } from "./thread-service.ts";

const params = z.object({ thread_id: z.guid() });
const editor = { kind: "agent", role: "editor", scope: "runs" } as const;
const thread = { description: "The thread.", schema: threadView };
const tag = "Threads";

/** Making, changing, copying and deleting threads. */
export function threadChangeRoutes({
  threads,
  states,
}: {
  threads: ThreadService;
  states: StateService;
}): AgentRoute[] {
  return [
    agentRoute(
      {
        method: "post",
        path: "/threads",
        operationId: "createThread",
        summary: "Create a thread",
        tag,
        access: editor,
        guard: asks("threads", "create", changesBody),
        body: threadCreateBody,
        responses: { 200: thread },
        errors: [400, 409],
      },
      async ({ caller, body }) => {
        const { row, created } = await threads.create(caller.workspaceId, {
          threadId: body.thread_id?.toLowerCase(),
          metadata: body.metadata ?? {},
          ttl: ttlOf(body.ttl) ?? null,
          ifExists: body.if_exists ?? "raise",
          condition: metadataCondition(caller.rowFilter),
        });
        if (!created || !body.supersteps?.length) return json(200, toThreadView(row));
        await states.fill(row, body.supersteps as Parameters<StateService["fill"]>[1]);
        return json(200, toThreadView(await threads.get(caller.workspaceId, row.thread_id)));
      },
    ),
    agentRoute(
      {
        method: "patch",
        path: "/threads/{thread_id}",
        operationId: "patchThread",
        summary: "Merge metadata into a thread, or change its time to live",
        tag,
        access: editor,
        guard: asks("threads", "update", { ...changesBody, ...threadInPath }),
        params,
        body: threadPatchBody,
        responses: { 200: thread, 204: { description: "Done, with `Prefer: return=minimal`." } },
        errors: [404],
      },
      async ({ caller, params: { thread_id }, body, request }) => {
        const row = await threads.patch(caller.workspaceId, thread_id, {
          metadata: body.metadata ?? {},
          ttl: ttlOf(body.ttl),
        });
        return request.headers.get("prefer")?.includes("return=minimal")
          ? noContent()
          : json(200, toThreadView(row));
      },
    ),
    agentRoute(
      {
        method: "delete",
        path: "/threads/{thread_id}",
        operationId: "deleteThread",
        summary: "Delete a thread with its runs and checkpoints",
        tag,
        access: editor,
        guard: asks("threads", "delete", threadInPath),
        params,
        responses: { 204: { description: "Deleted." } },
        errors: [404],
      },
      async ({ caller, params: { thread_id } }) => {
        await threads.remove(caller.workspaceId, thread_id);
        return noContent();
      },
    ),
    agentRoute(
      {
        method: "post",
        path: "/threads/{thread_id}/copy",
        operationId: "copyThread",
        summary: "Copy a thread with its checkpoints",
        tag,
        access: editor,
        guard: asks("threads", "read", { ...threadInPath, also: "create" }),
        params,
        responses: { 200: thread },
        errors: [404],
      },
      async ({ caller, params: { thread_id } }) =>
        json(200, toThreadView(await threads.copy(caller.workspaceId, thread_id))),
    ),
  ];
}

function ttlOf(
  ttl: number | { ttl: number; strategy: ThreadTtl["strategy"] } | null | undefined,
): ThreadTtl | undefined {
  if (ttl === null || ttl === undefined) return undefined;
  return typeof ttl === "number"
    ? { minutes: ttl, strategy: "delete" }
    : { minutes: ttl.ttl, strategy: ttl.strategy };
}
