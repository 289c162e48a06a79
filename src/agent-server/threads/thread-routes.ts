import { z } from "zod";
import type { Database } from "../../platform/db/database.ts";
import { paginationHeaders } from "../../platform/http/pagination-headers.ts";
import { json } from "../../platform/http/route.ts";
import { queryList } from "../../platform/http/validation/query.ts";
import { type AgentRoute, agentRoute } from "../auth/agent-route.ts";
import { metadataCondition } from "../auth/auth-filter.ts";
import { asks, changesBody, threadInPath } from "../auth/route-rules.ts";
import { extractPath, type ThreadRow, type ThreadView, toThreadView } from "./thread.ts";
import { type ThreadSearch, threadCountBody, threadSearchBody, threadView } from "./thread-schemas.ts";
import type { ThreadService } from "./thread-service.ts";
import { countThreads, searchThreads } from "./thread-store.ts";

const params = z.object({ thread_id: z.guid() });
const viewer = { kind: "agent", role: "viewer", scope: ["read", "runs"] } as const;
const thread = { description: "The thread.", schema: threadView };
const tag = "Threads";

/** Finding and reading threads. */
export function threadRoutes({
  database,
  threads,
}: {
  database: Database;
  threads: ThreadService;
}): AgentRoute[] {
  return [
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
  ];
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
