import { z } from "zod";
import { json, type Route, route } from "../../platform/http/route.ts";
import { id } from "../wire/wire-fields.ts";
import type { DeploymentPreviews } from "./deployment-preview-service.ts";
import { deployment, previewSettings } from "./deployment-schemas.ts";
import { toDeploymentWire } from "./deployment-wire.ts";

export function deploymentPreviewRoutes(previews: DeploymentPreviews): Route[] {
  return [
    route(
      {
        method: "put",
        path: "/v2/deployments/{deployment_id}/previews",
        operationId: "set_deployment_previews",
        summary: "Turn previews of pull requests on or off",
        description:
          "While they are on, each pull request of the repository gets a deployment. Each push to it is built. It is removed when the pull request is closed, after 14 days without a change, or when previews are turned off. Pull requests are reported by the webhook of the git integration (event pull_request), and found by asking the host's API where no webhook comes. Ten at most. Pull requests of forks get none.",
        tag: "Deployments (v2)",
        access: { kind: "workspace", role: "editor", scope: "deploy" },
        audit: {
          action: "deployment.previews_changed",
          target: { kind: "deployment", id: "params.deployment_id", name: "answer.name" },
          details: { enabled: "body.enabled", share_secrets: "body.share_secrets" },
        },
        params: z.object({ deployment_id: id }),
        body: previewSettings.extend({ share_secrets: previewSettings.shape.share_secrets.default(false) }),
        responses: { 200: { description: "The deployment", schema: deployment } },
        errors: [400, 404],
      },
      async ({ caller, params, body }) => {
        const settings = { enabled: body.enabled, shareSecrets: body.share_secrets };
        return json(200, toDeploymentWire(await previews.set(caller, params.deployment_id, settings)));
      },
    ),
  ];
}
