import { z } from "zod";
import type { Caller } from "../../platform/http/access/caller.ts";
import { json, type Route, route } from "../../platform/http/route.ts";
import { id, time } from "../wire/wire-fields.ts";
import type { DeploymentService } from "./deployment-service.ts";

/** Makes tokens with the rights of the caller, for one deployment of the caller's workspace. */
export type TokenIssuer = {
  issue(caller: Caller, deploymentId: string): Promise<{ token: string; expiresAt: Date }>;
};

const token = z.object({
  token: z.string().describe("Send it as `X-Api-Key` to the deployment's address."),
  expires_at: time,
  deployment_id: id,
});

export function deploymentTokenRoutes(service: DeploymentService, tokens: TokenIssuer): Route[] {
  return [
    route(
      {
        method: "post",
        path: "/v2/deployments/{deployment_id}/tokens",
        operationId: "create_deployment_token",
        summary: "Create a token for a deployment",
        description:
          "Valid for at most ten minutes and only for this deployment, with the caller's role. It ends with the key or session that created it. Pages that call a deployment use it instead of another credential.",
        tag: "Deployments (v2)",
        access: { kind: "workspace", role: "viewer", scope: ["read", "runs"] },
        audit: {
          action: "deployment.token_created",
          target: { kind: "deployment", id: "params.deployment_id" },
          details: { expires_at: "answer.expires_at" },
        },
        params: z.object({ deployment_id: id }),
        responses: { 201: { description: "The token", schema: token } },
        errors: [404],
      },
      async ({ caller, params }) => {
        const deployment = await service.load(caller, params.deployment_id);
        const made = await tokens.issue(caller, deployment.id);
        const body: z.input<typeof token> = {
          token: made.token,
          expires_at: made.expiresAt.toISOString(),
          deployment_id: deployment.id,
        };
        return json(201, body, { "cache-control": "no-store" });
      },
    ),
  ];
}
