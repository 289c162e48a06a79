import { z } from "zod";
import type { Database } from "../../platform/db/database.ts";
import { json, noContent } from "../../platform/http/route.ts";
import { queryList } from "../../platform/http/validation/query.ts";
import { type AgentRoute, agentRoute } from "../auth/agent-route.ts";
import { asks, paramsOf, queryOf, threadInPath } from "../auth/route-rules.ts";
import { threadNotFound } from "../threads/thread.ts";
import { findThreadById } from "../threads/thread-store.ts";
import { cancelActions, runStatuses } from "./run.ts";
import { runView, toRunView } from "./run-schemas.ts";
import type { RunService } from "./run-service.ts";
import { listRuns } from "./run-store.ts";

const threadParams = z.object({ thread_id: z.guid() });
const runParams = z.object({ thread_id: z.guid(), run_id: z.guid() });
const flag = z.enum(["0", "1", "true", "false"]).transform((text) => text === "1" || text === "true");
const anyJson = z.unknown();
const editor = { kind: "agent", role: "editor", scope: "runs" } as const;
const viewer = { kind: "agent", role: "viewer", scope: ["read", "runs"] } as const;
const tag = "Runs";

const listQuery = z.object({
  limit: z.coerce.number().int().min(1).max(1000).default(10),
  offset: z.coerce.number().int().min(0).default(0),
  status: z.enum(runStatuses).optional(),
  select: queryList(z.string()).optional(),
});

/** Runs of a thread: reading, stopping and deleting them. */
export function runRoutes({ service, database }: { service: RunService; database: Database }): AgentRoute[] {
  return [
    agentRoute(
      {
        method: "get",
        path: "/threads/{thread_id}/runs",
        operationId: "listRuns",
        summary: "Runs of a thread, newest first",
        tag,
        access: viewer,
        guard: asks("threads", "read", threadInPath),
        params: threadParams,
        query: listQuery,
        responses: { 200: { description: "Runs.", schema: z.array(runView.partial()) } },
        errors: [404],
      },
      async ({ caller, params, query }) => {
        const thread = await findThreadById(database, caller.workspaceId, params.thread_id);
        if (!thread) throw threadNotFound(params.thread_id);
        const runs = await listRuns(database.sql, {
          workspaceId: caller.workspaceId,
          threadId: params.thread_id,
          limit: query.limit,
          offset: query.offset,
          ...(query.status ? { status: query.status } : {}),
        });
        const select = query.select?.flatMap((names) => names.split(","));
        return json(
          200,
          runs.map((run) => pick(toRunView(run), select)),
        );
      },
    ),
    agentRoute(
      {
        method: "get",
        path: "/threads/{thread_id}/runs/{run_id}",
        operationId: "getRun",
        summary: "One run",
        tag,
        access: viewer,
        guard: asks("threads", "read", threadInPath),
        params: runParams,
        responses: { 200: { description: "The run.", schema: runView } },
        errors: [404],
      },
      async ({ caller, params }) =>
        json(200, toRunView(await service.get(caller.workspaceId, params.thread_id, params.run_id))),
    ),
    agentRoute(
      {
        method: "delete",
        path: "/threads/{thread_id}/runs/{run_id}",
        operationId: "deleteRun",
        summary: "Delete a run with its checkpoints",
        tag,
        access: editor,
        guard: asks("threads", "delete", threadInPath),
        params: runParams,
        responses: { 204: { description: "Deleted." } },
        errors: [404],
      },
      async ({ caller, params }) => {
        await service.remove(caller.workspaceId, params.thread_id, params.run_id);
        return noContent();
      },
    ),
    agentRoute(
      {
        method: "post",
        path: "/threads/{thread_id}/runs/{run_id}/cancel",
        operationId: "cancelRun",
        summary: "Stop a run",
        tag,
        access: editor,
        guard: asks("threads", "update", {
          ...threadInPath,
          value: (request) => ({ ...paramsOf(request), action: queryOf(request).action }),
        }),
        params: runParams,
        query: z.object({ wait: flag.default(false), action: z.enum(cancelActions).default("interrupt") }),
        responses: {
          202: { description: "Asked to stop.", schema: anyJson },
          204: { description: "Stopped." },
        },
        errors: [404, 409],
      },
      async ({ caller, params, query, request }) => {
        const run = await service.head(caller.workspaceId, params.run_id, params.thread_id);
        await service.cancel(run, query.action);
        if (!query.wait) return json(202, {});
        await service.waitForEnd(run.thread_id, run.run_id, request.signal);
        return noContent();
      },
    ),
  ];
}

function pick(view: Record<string, unknown>, names: string[] | undefined): Record<string, unknown> {
  if (!names || names.length === 0) return view;
  return Object.fromEntries(Object.entries(view).filter(([name]) => names.includes(name)));
}
