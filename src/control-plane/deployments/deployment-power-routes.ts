import { z } from "zod";
import type { AuditAction } from "../../platform/http/audit/audit-action.ts";
import { json, type Route, route } from "../../platform/http/route.ts";
import { id } from "../wire/wire-fields.ts";
import type { DeploymentPower } from "./deployment-power-service.ts";
import { deployment } from "./deployment-schemas.ts";
import { toDeploymentWire } from "./deployment-wire.ts";

type Power = {
  name: "stop" | "start" | "restart" | "sleep" | "wake";
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
    description:
      "The last revision serves again. A revision that was created meanwhile is deployed. One that is asleep is woken.",
  },
  {
    name: "restart",
    action: "deployment.restarted",
    summary: "Restart a deployment",
    description:
      "A new server of the same revision takes over when it is ready; the old one finishes its current work. No request is lost.",
  },
  {
    name: "sleep",
    action: "deployment.put_to_sleep",
    summary: "Put a deployment to sleep",
    description:
      "Its server ends when it has no request, run or webhook left; while it has some, the deployment stays awake. While it is waking up, nothing is changed and the answer is 409 (`deployment.waking`). The next request, cron or delayed run wakes it.",
  },
  {
    name: "wake",
    action: "deployment.woken",
    summary: "Wake a deployment",
    description: "Starts the server of a deployment that is asleep. A request to it does the same.",
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
        errors: name === "stop" || name === "start" ? [404] : [404, 409],
      },
      async ({ caller, params }) =>
        json(200, toDeploymentWire(await power[name](caller, params.deployment_id))),
    ),
  );
}
