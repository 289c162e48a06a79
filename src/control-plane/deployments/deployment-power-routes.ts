import { z } from "zod";
import type { AuditAction } from "../../platform/http/audit/audit-action.ts";
import { json, type Route, route } from "../../platform/http/route.ts";
import { id } from "../wire/wire-fields.ts";
import type { DeploymentPower } from "./deployment-power-service.ts";
import { deployment } from "./deployment-schemas.ts";
import { toDeploymentWire } from "./deployment-wire.ts";

type Power = {
  name: "stop" | "start" | "restart";
  action: AuditAction;
  summary: string;
  description: string;
};

const powers: readonly Power[] = [
  {
    name: "stop",
    action: "deployment.stopped",
    summary: "Stop a deployment",
    description:
      "Its server finishes its current work and ends. Requests get 503 until the deployment is started. It stays stopped when the platform restarts. Its data, address and revisions are kept.",
  },
  {
    name: "start",
    action: "deployment.started",
    summary: "Start a stopped deployment",
    description: "The last revision serves again. A revision that was created meanwhile is deployed.",
  },
  {
    name: "restart",
    action: "deployment.restarted",
    summary: "Restart a deployment",
    description:
      "A new server of the same revision takes over when it is ready; the old one finishes its current work. No request is lost.",
  },
];

export function deploymentPowerRoutes(power: DeploymentPower): Route[] {
  return powers.map(({ name, action, summary, description }) =>
    route(
      {
        method: "post",
        path: `/v2/deployments/{deployment_id}/${name}`,
        operationId: `${name}_deployment`,
        ...{ summary, description },
        tag: "Deployments (v2)",
        access: { kind: "workspace", role: "editor", scope: "deploy" },
        audit: { action, target: { kind: "deployment", id: "params.deployment_id", name: "answer.name" } },
        params: z.object({ deployment_id: id }),
        responses: { 200: { description: "The deployment", schema: deployment } },
        errors: name === "restart" ? [404, 409] : [404],
      },
      async ({ caller, params }) =>
        json(200, toDeploymentWire(await power[name](caller, params.deployment_id))),
    ),
  );
}
