import { z } from "zod";
import type { Clock } from "../../platform/clock.ts";
import type { Database } from "../../platform/db/database.ts";
import { invalidField } from "../../platform/errors.ts";
import { json, type Route, route } from "../../platform/http/route.ts";
import type { OwnDeployments } from "../desired-state/caller-access.ts";
import { instanceStates } from "../runtimes/instance.ts";
import { id, time } from "../wire/wire-fields.ts";
import type { Meter } from "./meter.ts";
import { countRestarts, readPoints, readRunning } from "./metric-store.ts";

const hourMs = 3_600_000;
const maxPoints = 2_000;
const amount = z.number().nullable();

const point = z
  .object({
    at: time,
    cpu: amount.describe("Processors in use."),
    memory_bytes: amount,
    requests: z.number().int(),
    errors: z.number().int().describe("Responses with status 500 and above."),
    mean_ms: amount.describe("Mean response time."),
  })
  .meta({ id: "DeploymentMetricPoint" });

const answer = z
  .object({
    step_seconds: z.number(),
    restarts: z.number().int().describe("Restarts after an exit, in this time."),
    instances: z.array(
      z.object({
        id,
        revision_id: id,
        state: z.enum(instanceStates),
        attempt: z.number().int(),
        in_flight: z.number().int().describe("Requests in progress."),
        started_at: time,
        ready_at: time.nullable(),
      }),
    ),
    points: z.array(point).describe("Oldest first; steps without data are left out."),
  })
  .meta({ id: "DeploymentMetrics" });

export type MetricRoutesOptions = {
  database: Database;
  clock: Clock;
  deployments: OwnDeployments;
  meter: Meter;
  /** Active requests to instances. */
  inFlight(instanceIds: readonly string[]): Promise<(instanceId: string) => number>;
};

export function metricRoutes({ database, clock, deployments, ...options }: MetricRoutesOptions): Route[] {
  return [
    route(
      {
        method: "get",
        path: "/v2/deployments/{deployment_id}/metrics",
        operationId: "get_deployment_metrics",
        summary: "Metrics of a deployment",
        description:
          "Kept for a day, in steps of ten seconds; by default the last hour in steps of a minute.",
        tag: "Deployments (v2)",
        access: { kind: "workspace", role: "viewer", scope: ["read", "deploy"] },
        params: z.object({ deployment_id: id }),
        query: z.object({
          start_time: z.coerce.date().optional(),
          end_time: z.coerce.date().optional(),
          step_seconds: z.coerce.number().int().min(10).max(86_400).default(60),
        }),
        responses: { 200: { description: "The figures", schema: answer } },
        errors: [404],
      },
      async ({ caller, params, query }) => {
        const { id } = await deployments.load(caller, params.deployment_id);
        const to = query.end_time ?? clock.now();
        const from = query.start_time ?? new Date(to.getTime() - hourMs);
        const stepSeconds = query.step_seconds;
        if (from >= to) throw invalidField(["query", "start_time"], "Must be before end_time");
        if ((to.getTime() - from.getTime()) / 1000 / stepSeconds > maxPoints) {
          throw invalidField(["query", "step_seconds"], `Must make at most ${maxPoints} steps of this time`);
        }
        await options.meter.measure();
        const [points, running, restarts] = await Promise.all([
          readPoints(database.sql, id, { from, to, stepSeconds }),
          readRunning(database.sql, id),
          countRestarts(database.sql, id, from),
        ]);
        const inFlight = await options.inFlight(running.map(({ id: instanceId }) => instanceId));
        return json(200, {
          step_seconds: stepSeconds,
          restarts,
          instances: running.map((instance) => ({
            id: instance.id,
            revision_id: instance.revision_id,
            state: instance.state as (typeof instanceStates)[number],
            attempt: instance.attempt,
            in_flight: inFlight(instance.id),
            started_at: instance.started_at.toISOString(),
            ready_at: instance.ready_at?.toISOString() ?? null,
          })),
          points: points.map(({ at, ...rest }) => ({ ...rest, at: at.toISOString() })),
        });
      },
    ),
  ];
}
