import { z } from "zod";
import { type Route, route } from "../../platform/http/route.ts";
import { id } from "../wire/wire-fields.ts";

/** The address command line tools print for a deployment; the console shows it. */
export function dashboardRoutes(consolePath: (deploymentId: string) => string): Route[] {
  return [
    route(
      {
        method: "get",
        path: "/o/{tenant_id}/host/deployments/{deployment_id}",
        operationId: "open_dashboard",
        summary: "Open a deployment in the console",
        tag: "Pages",
        access: { kind: "open" },
        params: z.object({ tenant_id: id, deployment_id: id }),
        responses: { 302: { description: "To the console" } },
        hidden: true,
      },
      ({ params }) =>
        new Response(null, { status: 302, headers: { location: consolePath(params.deployment_id) } }),
    ),
  ];
}
