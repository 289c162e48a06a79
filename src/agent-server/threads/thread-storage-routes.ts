import { z } from "zod";
import type { Database } from "../../platform/db/database.ts";
import { jsonObject } from "../../platform/http/json-object.ts";
import { json } from "../../platform/http/route.ts";
import { type AgentRoute, agentRoute } from "../auth/agent-route.ts";
import { metadataCondition } from "../auth/auth-filter.ts";
import { asks, showsBody, threadInPath } from "../auth/route-rules.ts";
import { measureThreadCheckpoints } from "../checkpoints/checkpoint-maintenance-store.ts";
import { ttlStrategies } from "./thread.ts";
import type { ThreadService } from "./thread-service.ts";

const params = z.object({ thread_id: z.guid() });
const editor = { kind: "agent", role: "editor", scope: "runs" } as const;
const viewer = { kind: "agent", role: "viewer", scope: ["read", "runs"] } as const;
const tag = "Threads";

/** What threads take, and making them take less. */
export function threadStorageRoutes({
  database,
  threads,
}: {
  database: Database;
  threads: ThreadService;
}): AgentRoute[] {
  return [
    agentRoute(
      {
        method: "get",
        path: "/threads/{thread_id}/storage",
        operationId: "getThreadStorage",
        summary: "The storage that a thread's checkpoints use",
        tag,
        access: viewer,
        guard: asks("threads", "read", threadInPath),
        params,
        responses: { 200: { description: "Sizes.", schema: jsonObject } },
        errors: [404],
      },
      async ({ caller, params: { thread_id } }) => {
        await threads.get(caller.workspaceId, thread_id);
        return json(200, await measureThreadCheckpoints(database.sql, thread_id));
      },
    ),
    agentRoute(
      {
        method: "post",
        path: "/threads/prune",
        operationId: "pruneThreads",
        summary: "Delete threads, or keep only their latest state",
        tag,
        access: editor,
        guard: asks("threads", "delete", showsBody),
        body: z.looseObject({
          thread_ids: z.array(z.guid()).min(1).max(10_000),
          strategy: z.enum(ttlStrategies).default("delete"),
        }),
        responses: { 200: { description: "Done.", schema: z.object({ pruned_count: z.int() }) } },
      },
      async ({ caller, body }) => {
        const condition = metadataCondition(caller.rowFilter);
        const count = await threads.prune(caller.workspaceId, body.thread_ids, body.strategy, condition);
        return json(200, { pruned_count: count });
      },
    ),
  ];
}
