import { z } from "zod";
import type { Database } from "../../platform/db/database.ts";
import { jsonObject } from "../../platform/http/json-object.ts";
import { paginationHeaders } from "../../platform/http/pagination-headers.ts";
import { json, noContent } from "../../platform/http/route.ts";
import { queryList } from "../../platform/http/validation/query.ts";
import { type AgentRoute, agentRoute } from "../auth/agent-route.ts";
import { metadataCondition } from "../auth/auth-filter.ts";
import { asks, changesBody, showsBody, threadInPath } from "../auth/route-rules.ts";
import { measureThreadCheckpoints } from "../checkpoints/checkpoint-maintenance-store.ts";
import type { StateService } from "./state-service.ts";
import {
  extractPath,
  type ThreadRow,
  type ThreadTtl,
  type ThreadView,
  toThreadView,
  ttlStrategies,
} from "./thread.ts";
import {
  type ThreadSearch,
  threadCountBody,
  threadCreateBody,
  threadPatchBody,
  threadSearchBody,
  threadView,
} from "./thread-schemas.ts";
import type { ThreadService } from "./thread-service.ts";
import { countThreads, searchThreads } from "./thread-store.ts";

export type ThreadRoutesOptions = { database: Database; threads: ThreadService; states: StateService };

const params = z.object({ thread_id: z.guid() });
const editor = { kind: "agent", role: "editor", scope: "runs" } as const;
const viewer = { kind: "agent", role: "viewer", scope: ["read", "runs"] } as const;
const thread = { description: "The thread.", schema: threadView };
const tag = "Threads";

export function threadRoutes({ database, threads, states }: ThreadRoutesOptions): AgentRoute[] {
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
        method: "post",
        path: "/threads/search",
        operationId: "searchThreads",
        summary: "Find threads",
        tag,
        access: viewer,
        guard: asks("threads", "search", changesBody),
        body: threadSearchBody,
        responses: { 200: { description: "Threads.", schema: z.array(threadView.partial()) } },
      },
      async ({ caller, body }) => {
        const condition = metadataCondition(caller.rowFilter);
        const filter = { ...body, workspaceId: caller.workspaceId, condition };
        const { rows, total } = await searchThreads(database.sql, filter, body);
        return json(
          200,
          rows.map((row) => shape(row, body)),
          paginationHeaders(body, rows.length, total),
        );
      },
    ),
    agentRoute(
      {
        method: "post",
        path: "/threads/count",
        operationId: "countThreads",
        summary: "How many threads match",
        tag,
        access: viewer,
        guard: asks("threads", "search", changesBody),
        body: threadCountBody,
        responses: { 200: { description: "The number.", schema: z.int() } },
      },
      async ({ caller, body }) =>
        json(
          200,
          await countThreads(database.sql, {
            ...body,
            workspaceId: caller.workspaceId,
            condition: metadataCondition(caller.rowFilter),
          }),
        ),
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
    agentRoute(
      {
        method: "get",
        path: "/threads/{thread_id}",
        operationId: "getThread",
        summary: "One thread",
        tag,
        access: viewer,
        guard: asks("threads", "read", threadInPath),
        params,
        query: z.object({ include: queryList(z.string()).optional() }),
        responses: { 200: thread },
        errors: [404],
      },
      async ({ caller, params: { thread_id }, query }) => {
        const ttl = query.include?.some((text) => text.split(",").includes("ttl")) ?? false;
        return json(200, toThreadView(await threads.get(caller.workspaceId, thread_id), { ttl }));
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
    agentRoute(
      {
        method: "get",
        path: "/threads/{thread_id}/storage",
        operationId: "getThreadStorage",
        summary: "How much a thread's checkpoints take",
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

/** Only the selected fields, plus what was asked to be extracted. */
function shape(row: ThreadRow, search: ThreadSearch): Partial<ThreadView> {
  const view = toThreadView(row);
  const { select, extract } = search;
  const shown: Partial<ThreadView> = select
    ? Object.fromEntries(Object.entries(view).filter(([name]) => select.includes(name as never)))
    : view;
  if (!extract) return shown;
  const found = Object.entries(extract).map(([alias, path]) => [alias, extractPath(view, path)]);
  return { ...shown, extracted: Object.fromEntries(found) };
}
