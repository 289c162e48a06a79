import type { Route } from "../../platform/http/route.ts";
import type { DeploymentTracing } from "../tracing/deployment-tracing.ts";
import { deploymentPowerRoutes } from "./deployment-power-routes.ts";
import { DeploymentPower } from "./deployment-power-service.ts";
import { deploymentPreviewRoutes } from "./deployment-preview-routes.ts";
import { DeploymentPreviews } from "./deployment-preview-service.ts";
import { DeploymentRemoval, type DeploymentRemovalOptions } from "./deployment-removal-service.ts";
import { deploymentRoutes } from "./deployment-routes.ts";
import { DeploymentSecrets } from "./deployment-secrets.ts";
import { DeploymentService, type DeploymentServiceOptions } from "./deployment-service.ts";
import { DeploymentViews, type DeploymentViewsOptions } from "./deployment-views.ts";

export type DeploymentsOptions = Omit<DeploymentServiceOptions, "secrets" | "views" | "tracing"> &
  Pick<DeploymentViewsOptions, "runtimeName" | "urlOf" | "pageUrlOf" | "urlOfDomain"> &
  Pick<DeploymentRemovalOptions, "purgeAfterMs" | "forgetRoute"> & { tracing: DeploymentTracing };

/** Deployments as their routes and the other parts of the control plane use them. */
export function createDeployments(options: DeploymentsOptions): {
  service: DeploymentService;
  removal: DeploymentRemoval;
  routes: Route[];
} {
  const secrets = new DeploymentSecrets(options.secretBox, options.rules);
  const views = new DeploymentViews({ ...options, secrets });
  const service = new DeploymentService({ ...options, secrets, views });
  const power = new DeploymentPower({ ...options, views });
  const previews = new DeploymentPreviews({ ...options, views });
  const removal = new DeploymentRemoval(options);
  return {
    service,
    removal,
    routes: [
      ...deploymentRoutes(service, removal),
      ...deploymentPowerRoutes(power),
      ...deploymentPreviewRoutes(previews),
    ],
  };
}
