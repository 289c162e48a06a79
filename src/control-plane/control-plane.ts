import type { Area } from "../platform/areas/area.ts";
import type { BeginRaw } from "../platform/http/pipeline/raw-exchange.ts";
import type { Route } from "../platform/http/route.ts";
import type { OnRequest, OnUpgrade } from "../platform/http/server/server.ts";
import { every, type RecurringJob } from "../platform/jobs/job-schedule.ts";
import { composeGateway, type Gateway } from "./compose-gateway.ts";
import { composeReconciler } from "./compose-reconciler.ts";
import { composeServices, type Services } from "./compose-services.ts";
import type { ControlPlaneOptions } from "./control-plane-options.ts";
import { dashboardRoutes } from "./deployments/dashboard-routes.ts";
import { deploymentTokenRoutes } from "./deployments/deployment-token-routes.ts";
import { domainAskRoutes } from "./domains/domain-ask-routes.ts";
import { domainRoutes } from "./domains/domain-routes.ts";
import { DomainTable } from "./domains/domain-table.ts";
import { DeploymentOrigins } from "./gateway/deployment-origins.ts";
import { createGatewayListener, gatewayRoute } from "./gateway/gateway-listener.ts";
import { gatewayRoutes } from "./gateway/gateway-routes.ts";
import { createGatewayUpgrade, isForGateway } from "./gateway/gateway-upgrade.ts";
import { installationRoutes } from "./integrations/installation-routes.ts";
import { integrationRoutes } from "./integrations/integration-routes.ts";
import { listenerRoutes } from "./listeners/listener-routes.ts";
import { logFeedRoutes } from "./logs/log-feed-routes.ts";
import { logRoutes } from "./logs/log-routes.ts";
import { metricRoutes } from "./metrics/metric-routes.ts";
import { pageCodeRoutes } from "./pages/page-code-routes.ts";
import { maintain } from "./reconciler/maintenance.ts";
import { RevisionFeed } from "./revisions/revision-feed.ts";
import { revisionRoutes } from "./revisions/revision-routes.ts";
import type { Isolation } from "./sandbox/isolation.ts";
import { templateRoutes } from "./templates/template-routes.ts";
import { createDeploymentTracing, type DeploymentTracing } from "./tracing/deployment-tracing.ts";
import { uploadRoutes } from "./uploads/upload-routes.ts";

export type ControlPlane = Area & {
  /** The gateway and pages. */
  hiddenRoutes: NonNullable<Area["hiddenRoutes"]>;
  /** Takes the connections for a deployment and leaves the others to their previous handler. */
  onUpgrade(otherwise: OnUpgrade): OnUpgrade;
  /** Takes the requests that are for a deployment. */
  onRequest(begin: (route: string) => BeginRaw): OnRequest;
  /** Pages of deployments, which the platform trusts no more than any other site. */
  isDeploymentOrigin(origin: string): boolean;
  /** Throws while the workspace has deployments. */
  beforeWorkspaceDelete(workspaceId: string): Promise<void>;
  /** What stands between deployed code and the rest of the machine. */
  isolation(): Promise<Isolation>;
};

export function createControlPlane(options: ControlPlaneOptions): ControlPlane {
  const { database, clock, logger, secretBox, runtime, publicUrl } = options;
  const domains = new DomainTable({ database, logger });
  const origins = new DeploymentOrigins({
    pattern: options.deploymentsUrl ?? (() => null),
    platformUrl: publicUrl,
    domains,
  });
  const tracing = createDeploymentTracing({ database, clock, logger, secretBox, port: options.tracing });
  const services = composeServices(options, {
    ...{ origins, tracing, domains },
    forgetRoute: (deploymentId) => gateway.targets.forget(deploymentId),
  });
  const gateway = composeGateway(options, { origins, domains }, () => supervisor.usages());
  const { supervisor, worker } = composeReconciler(options, { services, gateway, tracing });
  return {
    routes: routesOf(options, { services, gateway, origins, domains }),
    hiddenRoutes: [
      ...gatewayRoutes(gateway.entrance),
      ...dashboardRoutes(options.consolePath ?? ((id) => `/deployments/${id}`)),
    ],
    onUpgrade(otherwise) {
      const own = createGatewayUpgrade({ ...gateway.entrance, logger });
      return (request, ...rest) => (isForGateway(request, origins) ? own : otherwise)(request, ...rest);
    },
    onRequest: (begin) => createGatewayListener({ ...gateway.entrance, begin: begin(gatewayRoute) }),
    jobHandlers: {},
    recurringJobs: recurringJobsOf(options, { services, tracing }),
    isDeploymentOrigin: (origin) => origins.isDeploymentOrigin(origin),
    beforeWorkspaceDelete: (workspaceId) => services.site.removal.refuseWhileAny(workspaceId),
    isolation: () => runtime.isolation(),
    workers: [worker],
    start: gateway.start,
    stop: gateway.stop,
  };
}

type Parts = { services: Services; gateway: Gateway; origins: DeploymentOrigins; domains: DomainTable };

function routesOf(options: ControlPlaneOptions, { services, gateway, origins, domains }: Parts): Route[] {
  const { database, clock, tokens, passes, publicUrl } = options;
  const { deployments, revisions, logs } = services;
  const { states, meter, inFlight, targets } = gateway;
  return [
    ...services.site.routes,
    ...(tokens ? deploymentTokenRoutes(deployments, tokens) : []),
    ...(passes
      ? pageCodeRoutes({
          ...{ passes, states },
          find: (slug) => targets.find(slug),
          originsOf: (slug) => origins.originsOf(slug),
        })
      : []),
    ...domainRoutes(services.domains, (domain) => origins.urlOfDomain(domain)),
    ...domainAskRoutes(domains),
    ...uploadRoutes(services.uploads),
    ...templateRoutes(),
    ...revisionRoutes(revisions, new RevisionFeed({ database, service: revisions })),
    ...logRoutes(logs),
    ...logFeedRoutes(logs),
    ...metricRoutes({ database, clock, deployments, meter, inFlight }),
    ...integrationRoutes(services.integrations, publicUrl),
    ...installationRoutes(),
    ...listenerRoutes({ database, clock }),
  ];
}

function recurringJobsOf(
  { database, clock, logger, folder, settings }: ControlPlaneOptions,
  { services, tracing }: { services: Services; tracing: DeploymentTracing },
): RecurringJob[] {
  return [
    every({
      ...{ database, clock },
      kind: "control_plane.maintain",
      everyMs: 10 * 60_000,
      handler: async ({ signal }) => {
        await maintain({ database, clock, logger, folder }, signal);
        await services.previews.removeEnded();
        await services.domains.removeExpired();
        await tracing.endUnusedKeys();
      },
    }),
    every({
      ...{ database, clock },
      kind: "control_plane.poll_branches",
      everyMs: settings.gitPollMs,
      handler: async ({ signal }) => {
        await services.pushes.poll(signal);
        await services.pullRequests.poll(signal);
      },
    }),
  ];
}
