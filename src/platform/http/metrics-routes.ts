import { z } from "zod";
import type { Metrics } from "../metrics.ts";
import { type Route, route } from "./route.ts";

export function metricsRoutes(metrics: Metrics): Route[] {
  return [
    route(
      {
        method: "get",
        path: "/metrics",
        operationId: "get_metrics",
        summary: "Counters and gauges of this process",
        description: "In the Prometheus text form, or as JSON with `format=json`.",
        tag: "System",
        access: { kind: "agent", role: "viewer" },
        query: z.object({ format: z.enum(["prometheus", "json"]).default("prometheus") }),
        responses: { 200: { description: "The metrics", contentType: "text/plain" } },
      },
      async ({ query }) => {
        const { contentType, body } = await metrics.render(query.format);
        return new Response(body, { headers: { "content-type": contentType } });
      },
    ),
  ];
}
