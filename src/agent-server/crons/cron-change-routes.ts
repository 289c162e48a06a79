import { z } from "zod";
import { json, noContent } from "../../platform/http/route.ts";
import { type AgentRoute, agentRoute } from "../auth/agent-route.ts";
import { asks, bodyOf, changesBody, cronInPath, withBody } from "../auth/route-rules.ts";
import { cronCreateBody, cronPatchBody, cronView, toCronView } from "./cron-schemas.ts";
import type { CronChange, CronService } from "./cron-service.ts";

const threadParams = z.object({ thread_id: z.uuid() });
const cronParams = z.object({ cron_id: z.uuid() });
const editor = { kind: "agent", role: "editor", scope: "runs" } as const;
const one = { description: "The cron.", schema: cronView };
const tag = "Crons";
/** Handlers know what the runs are given as `payload`. What will start runs later must be allowed to start them now. */
const guardCreate = asks("crons", "create", {
  value: (request) => ({ ...changesBody.value(request), payload: bodyOf(request).input ?? {} }),
  changed: (request, { payload: _payload, ...value }) => withBody(request, value),
  runsOnThread: true,
});

/** Making, changing and deleting crons. */
export function cronChangeRoutes(service: CronService): AgentRoute[] {
  return [
    agentRoute(
      {
        method: "post",
        path: "/runs/crons",
        operationId: "createCron",
        summary: "Create a cron that starts each run on a new thread",
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
        summary: "Create a cron that starts runs on this thread",
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
        method: "patch",
        path: "/runs/crons/{cron_id}",
        operationId: "patchCron",
        summary: "Change a cron",
        description:
          "Fields that are left out do not change; `end_time: null` and `timezone: null` clear them.",
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
        description: "Runs it has started continue.",
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
