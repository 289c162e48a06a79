import { z } from "zod";
import type { Clock } from "../../platform/clock.ts";
import type { Caller } from "../../platform/http/access/caller.ts";
import { json } from "../../platform/http/route.ts";
import { type AgentRoute, agentRoute } from "../auth/agent-route.ts";
import { metadataCondition } from "../auth/auth-filter.ts";
import { asks, changesBody, cronInPath } from "../auth/route-rules.ts";
import type { Cron } from "./cron.ts";
import { cronCountBody, cronSearchBody, cronView, toCronView } from "./cron-schemas.ts";
import type { CronService } from "./cron-service.ts";
import type { CronFilter } from "./cron-store.ts";

const cronParams = z.object({ cron_id: z.uuid() });
const viewer = { kind: "agent", role: "viewer", scope: ["read", "runs"] } as const;
const one = { description: "The cron.", schema: cronView };
const tag = "Crons";

/** Finding and reading crons. */
export function cronRoutes(service: CronService, clock: Clock): AgentRoute[] {
  return [
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
  ];
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
