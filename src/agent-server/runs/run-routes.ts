import { z } from "zod";
import type { Database } from "../../platform/db/database.ts";
import { invalidField } from "../../platform/errors.ts";
import { json, noContent } from "../../platform/http/route.ts";
import { queryList } from "../../platform/http/validation/query.ts";
import { type AgentRoute, agentRoute } from "../auth/agent-route.ts";
import { asks, asksWhereMade, paramsOf, queryOf, threadInPath } from "../auth/route-rules.ts";
import { type StreamMode, streamModes } from "../graphs/graph-call.ts";
import { threadNotFound } from "../threads/thread.ts";
import { findThreadById } from "../threads/thread-store.ts";
import { cancelActions, runStatuses } from "./run.ts";
import { type RunAnswers, runLocation, streamRun, waitForRun } from "./run-responses.ts";
import { runCreateBody, runView, toRunRequest, toRunView } from "./run-schemas.ts";
import { listRuns } from "./run-store.ts";

export type RunRoutesOptions = RunAnswers & { database: Database };

const threadParams = z.object({ thread_id: z.guid() });
const runParams = z.object({ thread_id: z.guid(), run_id: z.guid() });
const flag = z.enum(["0", "1", "true", "false"]).transform((text) => text === "1" || text === "true");
const anyJson = z.unknown();
const editor = { kind: "agent", role: "editor", scope: "runs" } as const;
const viewer = { kind: "agent", role: "viewer", scope: ["read", "runs"] } as const;
const sse = { description: "Events of the run.", contentType: "text/event-stream" };
const tag = "Runs";

/** Runs on a thread. */
export function runRoutes(options: RunRoutesOptions): AgentRoute[] {
  const { service, database } = options;
  return [
    agentRoute(
      {
        method: "post",
        path: "/threads/{thread_id}/runs",
        operationId: "createRun",
        summary: "Start a run and return at once",
        tag,
        access: editor,
        guard: asksWhereMade,
        params: threadParams,
        body: runCreateBody,
        responses: { 200: { description: "The run.", schema: runView } },
        errors: [404, 409],
      },
      async ({ caller, params, body, request: { headers } }) => {
        const request = {
          ...toRunRequest(body, "given"),
          ...options.callerOf(caller, headers),
        };
        const { run } = await service.create(caller.workspaceId, params.thread_id, request);
        return json(200, toRunView(run), {
          "content-location": runLocation(run, false)["content-location"]!,
        });
      },
    ),
    agentRoute(
      {
        method: "post",
        path: "/threads/{thread_id}/runs/stream",
        operationId: "streamRun",
        summary: "Start a run and stream its events",
        tag,
        access: editor,
        guard: asksWhereMade,
        params: threadParams,
        body: runCreateBody,
        responses: { 200: sse },
        errors: [404, 409],
      },
      async ({ caller, params, body, request: { headers }, connection }) => {
        const request = {
          ...toRunRequest(body, "given"),
          ...options.callerOf(caller, headers),
        };
        const { run, afterSeq } = await service.create(caller.workspaceId, params.thread_id, request);
        return streamRun(options, run, {
          from: { afterSeq },
          stateless: false,
          withIds: true,
          cancelOnDisconnect: body.on_disconnect === "cancel",
          connection,
        });
      },
    ),
    agentRoute(
      {
        method: "post",
        path: "/threads/{thread_id}/runs/wait",
        operationId: "waitRun",
        summary: "Start a run and return its final values",
        tag,
        access: editor,
        guard: asksWhereMade,
        params: threadParams,
        body: runCreateBody,
        responses: { 200: { description: "Final values, or `__error__`.", schema: anyJson } },
        errors: [404, 409],
      },
      async ({ caller, params, body, request: { headers, signal } }) => {
        const request = {
          ...toRunRequest(body, "given"),
          ...options.callerOf(caller, headers),
        };
        const created = await service.create(caller.workspaceId, params.thread_id, request);
        return waitForRun(options, created, {
          stateless: false,
          signal,
          cancelOnDisconnect: body.on_disconnect === "cancel",
        });
      },
    ),
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
        query: z.object({
          limit: z.coerce.number().int().min(1).max(1000).default(10),
          offset: z.coerce.number().int().min(0).default(0),
          status: z.enum(runStatuses).optional(),
          select: queryList(z.string()).optional(),
        }),
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
        method: "get",
        path: "/threads/{thread_id}/runs/{run_id}/join",
        operationId: "joinRun",
        summary: "Wait for a run and return its final values",
        tag,
        access: viewer,
        guard: asks("threads", "read", threadInPath),
        params: runParams,
        query: z.object({ cancel_on_disconnect: flag.optional() }),
        responses: { 200: { description: "Final values, or `__error__`.", schema: anyJson } },
        errors: [404],
      },
      async ({ caller, params, query, request }) => {
        const run = await service.head(caller.workspaceId, params.run_id, params.thread_id);
        return waitForRun(
          options,
          { run, result: undefined },
          {
            stateless: false,
            signal: request.signal,
            cancelOnDisconnect: query.cancel_on_disconnect ?? false,
          },
        );
      },
    ),
    agentRoute(
      {
        method: "get",
        path: "/threads/{thread_id}/runs/{run_id}/stream",
        operationId: "joinRunStream",
        summary: "Follow a run; with Last-Event-ID from where the client stopped",
        tag,
        access: viewer,
        guard: asks("threads", "read", { ...threadInPath, absenceAsEvent: true }),
        params: runParams,
        query: z.object({
          stream_mode: queryList(z.string()).optional(),
          cancel_on_disconnect: flag.optional(),
        }),
        responses: { 200: sse },
        errors: [404],
      },
      async ({ caller, params, query, request, connection }) => {
        const run = await service.head(caller.workspaceId, params.run_id, params.thread_id);
        return streamRun(options, run, {
          from: await service.joinPoint(run, request.headers.get("last-event-id") ?? undefined),
          modes: parseModes(query.stream_mode),
          stateless: false,
          withIds: true,
          cancelOnDisconnect: query.cancel_on_disconnect ?? false,
          connection,
        });
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

export function parseModes(texts: string[] | undefined): StreamMode[] | undefined {
  if (!texts) return undefined;
  return texts
    .flatMap((text) => text.split(","))
    .filter(Boolean)
    .map((text) => {
      if (!streamModes.includes(text as StreamMode)) {
        throw invalidField(
          ["query", "stream_mode"],
          `stream_mode must be one of ${streamModes.join(", ")}`,
          text,
        );
      }
      return text as StreamMode;
    });
}

function pick(view: Record<string, unknown>, names: string[] | undefined): Record<string, unknown> {
  if (!names || names.length === 0) return view;
  return Object.fromEntries(Object.entries(view).filter(([name]) => names.includes(name)));
}
