import { z } from "zod";
import type { Clock } from "../../platform/clock.ts";
import type { Caller } from "../../platform/http/access/caller.ts";
import { json, noContent } from "../../platform/http/route.ts";
import { type AgentRoute, agentRoute } from "../auth/agent-route.ts";
import { metadataCondition } from "../auth/auth-filter.ts";
import { asks, bodyOf, changesBody, cronInPath, withBody } from "../auth/route-rules.ts";
import type { Cron } from "./cron.ts";
import {
  cronCountBody,
  cronCreateBody,
  cronPatchBody,
  cronSearchBody,
  cronView,
  toCronView,
} from "./cron-schemas.ts";
import type { CronChange, CronService } from "./cron-service.ts";
import type { CronFilter } from "./cron-store.ts";

const threadParams = z.object({ thread_id: z.uuid() });
const cronParams = z.object({ cron_id: z.uuid() });
const editor = { kind: "agent", role: "editor", scope: "runs" } as const;
const viewer = { kind: "agent", role: "viewer", scope: ["read", "runs"] } as const;
const one = { description: "The cron.", schema: cronView };
const tag = "Crons";

/** Handlers know what the runs are given as `payload`. What will start runs later must be allowed to start them now. */
const guardCreate = asks("crons", "create", {
  value: (request) => ({ ...changesBody.value(request), payload: bodyOf(request).input ?? {} }),
  changed: (request, { payload: _payload, ...value }) => withBody(request, value),
  runsOnThread: true,
});

export function cronRoutes(service: CronService, clock: Clock): AgentRoute[] {
  return [
    agentRoute(
      {
        method: "post",
        path: "/runs/crons",
        operationId: "createCron",
        summary: "Start a run on a thread of its own, again and again",
        tag,
        access: editor,
        guard: guardCreate,
        body: cronCreateBody,
        idempotent: true,
        responses: { 200: one },
        errors: [404],
      },
      async ({ caller, body }) => {
        const request = { ...changeOf(body), assistant_id: body.assistant_id, schedule: body.schedule };
        return json(200, toCronView(await service.create(caller, null, request)));
      },
    ),
    agentRoute(
      {
        method: "post",
        path: "/threads/{thread_id}/runs/crons",
        operationId: "createThreadCron",
        summary: "Start a run on this thread, again and again",
        tag,
        access: editor,
        guard: guardCreate,
        params: threadParams,
        body: cronCreateBody,
        idempotent: true,
        responses: { 200: one },
        errors: [404],
      },
      async ({ caller, params, body }) => {
        const request = { ...changeOf(body), assistant_id: body.assistant_id, schedule: body.schedule };
        return json(200, toCronView(await service.create(caller, params.thread_id, request)));
      },
    ),
    agentRoute(
      {
        method: "post",
        path: "/runs/crons/search",
        operationId: "searchCrons",
        summary: "Find crons",
        tag,
        access: viewer,
        guard: asks("crons", "search", changesBody),
        body: cronSearchBody,
        responses: {
          200: {
            description: "Crons.",
            schema: z.array(cronView.partial().extend({ now: z.string().optional() })),
          },
        },
      },
      async ({ caller, body }) => {
        const { limit, offset, sort_by: sortBy, sort_order: sortOrder } = body;
        const filter = filterOf(caller, body);
        const { crons, total } = await service.search(filter, { limit, offset, sortBy, sortOrder });
        const next = offset + crons.length;
        return json(
          200,
          crons.map((cron) => shape(cron, body.select, clock.now())),
          {
            "x-pagination-total": String(total),
            ...(next < total ? { "x-pagination-next": String(next) } : {}),
          },
        );
      },
    ),
    agentRoute(
      {
        method: "post",
        path: "/runs/crons/count",
        operationId: "countCrons",
        summary: "How many crons match",
        tag,
        access: viewer,
        guard: asks("crons", "search", changesBody),
        body: cronCountBody,
        responses: { 200: { description: "The number.", schema: z.int() } },
      },
      async ({ caller, body }) => json(200, await service.count(filterOf(caller, body))),
    ),
    agentRoute(
      {
        method: "get",
        path: "/runs/crons/{cron_id}",
        operationId: "getCron",
        summary: "One cron",
        tag,
        access: viewer,
        guard: asks("crons", "read", cronInPath),
        params: cronParams,
        responses: { 200: one },
        errors: [404],
      },
      async ({ caller, params }) =>
        json(200, toCronView(await service.get(caller.workspaceId, params.cron_id))),
    ),
    agentRoute(
      {
        method: "patch",
        path: "/runs/crons/{cron_id}",
        operationId: "patchCron",
        summary: "Change a cron",
        description: "Fields left out stay as they are; `end_time: null` and `timezone: null` clear them.",
        tag,
        access: editor,
        guard: asks("crons", "update", { ...changesBody, ...cronInPath }),
        params: cronParams,
        body: cronPatchBody,
        responses: { 200: one },
        errors: [404],
      },
      async ({ caller, params, body }) => {
        const change = { ...changeOf(body), schedule: body.schedule ?? undefined };
        return json(200, toCronView(await service.patch(caller.workspaceId, params.cron_id, change)));
      },
    ),
    agentRoute(
      {
        method: "delete",
        path: "/runs/crons/{cron_id}",
        operationId: "deleteCron",
        summary: "Delete a cron",
        description: "Runs it has started go on.",
        tag,
        access: editor,
        guard: asks("crons", "delete", cronInPath),
        params: cronParams,
        responses: { 204: { description: "Deleted." } },
        errors: [404],
      },
      async ({ caller, params }) => {
        await service.remove(caller.workspaceId, params.cron_id);
        return noContent();
      },
    ),
  ];
}

/** Null means "as it is" where a field cannot be empty. */
function changeOf(body: z.output<typeof cronPatchBody>): CronChange {
  return {
    ...body,
    enabled: body.enabled ?? undefined,
    on_run_completed: body.on_run_completed ?? undefined,
    metadata: body.metadata ?? undefined,
    schedule: body.schedule ?? undefined,
  };
}

function filterOf(caller: Caller, body: z.output<typeof cronCountBody>): CronFilter {
  return {
    workspaceId: caller.workspaceId,
    condition: metadataCondition(caller.rowFilter, "c.metadata"),
    assistantId: body.assistant_id ?? undefined,
    threadId: body.thread_id ?? undefined,
    enabled: body.enabled ?? undefined,
    metadata: body.metadata ?? undefined,
  };
}

function shape(cron: Cron, select: readonly string[] | null | undefined, now: Date): Record<string, unknown> {
  const view = toCronView(cron);
  if (!select || select.length === 0) return view;
  const all = { ...view, now: now.toISOString() };
  return Object.fromEntries(Object.entries(all).filter(([name]) => select.includes(name)));
}
