import type { IncomingMessage } from "node:http";
import type { Area } from "../platform/areas/area.ts";
import type { Authenticator } from "../platform/http/access/caller.ts";
import type { BeginRaw } from "../platform/http/pipeline/raw-exchange.ts";
import type { Route } from "../platform/http/route.ts";
import type { OnRequest, OnUpgrade } from "../platform/http/server/server.ts";
import { every, type RecurringJob } from "../platform/jobs/job-schedule.ts";
import type { RevisionBuilder } from "./builds/build-request.ts";
import { buildPodRoutes } from "./builds/pods/build-pod-routes.ts";
import { composeGateway, type Gateway } from "./compose-gateway.ts";
import { composeListenerApi, composeMirroring } from "./compose-listeners.ts";
import { composeReconciler } from "./compose-reconciler.ts";
import { composeServices, type Services } from "./compose-services.ts";
import { type ControlPlaneOptions, movesLogs } from "./control-plane-options.ts";
import { dashboardRoutes } from "./deployments/dashboard-routes.ts";
import { deploymentTokenRoutes } from "./deployments/deployment-token-routes.ts";
import { domainAskRoutes } from "./domains/domain-ask-routes.ts";
import { recheckJob } from "./domains/domain-recheck-service.ts";
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
import { LogMover } from "./logs/log-mover.ts";
import { logRoutes } from "./logs/log-routes.ts";
import { metricRoutes } from "./metrics/metric-routes.ts";
import { pageCodeRoutes } from "./pages/page-code-routes.ts";
import { maintain } from "./reconciler/maintenance.ts";
import { RevisionFeed } from "./revisions/revision-feed.ts";
import { revisionRoutes } from "./revisions/revision-routes.ts";
import { artifactRoutes } from "./runtimes/kubernetes/artifact-routes.ts";
import type { Supervisor } from "./runtimes/supervisor.ts";
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
  /** Whether a request is for a deployment, by its path or its host. */
  isForDeployment(request: IncomingMessage): boolean;
  /** Pages of deployments, which the platform trusts no more than any other site. */
  isDeploymentOrigin(origin: string): boolean;
  /** Throws while the workspace has deployments. */
  beforeWorkspaceDelete(workspaceId: string): Promise<void>;
  /** What stands between deployed code and the rest of the machine. */
  isolation(): Promise<Isolation>;
  /** Where it is a listener, callers of the platform are recognised as well. */
  authenticator(local: Authenticator): Authenticator;
};

export function createControlPlane(options: ControlPlaneOptions): ControlPlane {
  const { database, clock, logger, secretBox, runtime, publicUrl } = options;
  const domains = new DomainTable({ database, logger });
  const origins = new DeploymentOrigins({
    pattern: options.deploymentsUrl ?? (() => null),
    platformUrl: publicUrl,
    domains,
  });
  const mirroring = composeMirroring(options);
  const tracing =
    mirroring?.tracing ??
    createDeploymentTracing({ database, clock, logger, secretBox, port: options.tracing });
  const services = composeServices(options, {
    ...{ origins, tracing, domains },
    forgetRoute: (deploymentId) => gateway.targets.forget(deploymentId),
  });
  const entered: ControlPlaneOptions = {
    ...options,
    isPlatformCredential: (text) => (mirroring ?? options).isPlatformCredential(text),
  };
  const gateway = composeGateway(entered, { origins, domains }, () => supervisor.usages());
  const sources = mirroring?.sources ?? services.sources;
  const { supervisor, shelf, builder, workers } = composeReconciler(options, {
    ...{ services, gateway, tracing, sources },
  });
  const listenerApi = composeListenerApi(options, { services, tracing });
  return {
    routes: [...routesOf(options, { services, gateway, origins, domains }), ...listenerApi.routes],
    hiddenRoutes: [
      ...gatewayRoutes(gateway.entrance),
      // Only pods have to fetch what they run and what they build.
      ...(runtime.name === "kubernetes"
        ? [
            ...artifactRoutes({ ...options, shelf }),
            ...buildPodRoutes({
              ...options,
              maxBytes: options.settings.buildMaxBytes,
              logMaxLines: options.settings.logMaxLines,
            }),
          ]
        : []),
      ...dashboardRoutes(options.consolePath ?? ((id) => `/deployments/${id}`)),
    ],
    onUpgrade(otherwise) {
      const own = createGatewayUpgrade({ ...gateway.entrance, logger });
      return (request, ...rest) => (isForGateway(request, origins) ? own : otherwise)(request, ...rest);
    },
    onRequest: (begin) => createGatewayListener({ ...gateway.entrance, begin: begin(gatewayRoute) }),
    isForDeployment: (request) => isForGateway(request, origins),
    jobHandlers: { [recheckJob]: ({ signal }) => services.domainRechecks.run(signal) },
    recurringJobs: recurringJobsOf(options, { services, tracing, supervisor, builder }),
    isDeploymentOrigin: (origin) => origins.isDeploymentOrigin(origin),
    beforeWorkspaceDelete: (workspaceId) => services.site.removal.refuseWhileAny(workspaceId),
    isolation: () => runtime.isolation(),
    authenticator: (local) => mirroring?.callersBeside(local) ?? local,
    workers: [...workers, gateway.held, ...(mirroring ? [mirroring.worker(services.urlOf)] : [])],
    async start() {
      await gateway.start();
      await listenerApi.start();
    },
    async stop() {
      await listenerApi.stop();
      await gateway.stop();
    },
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
    ...revisionRoutes(
      revisions,
      new RevisionFeed({ database, logs: services.logReader, service: revisions }),
    ),
    ...logRoutes(logs),
    ...logFeedRoutes(logs),
    ...metricRoutes({ database, clock, deployments, meter, inFlight }),
    ...integrationRoutes(services.integrations, publicUrl),
    ...installationRoutes(),
    ...listenerRoutes({ database, clock }),
  ];
}

function recurringJobsOf(
  options: ControlPlaneOptions,
  {
    services,
    tracing,
    supervisor,
    builder,
  }: {
    services: Services;
    tracing: DeploymentTracing;
    supervisor: Pick<Supervisor, "removeOthers">;
    builder: Pick<RevisionBuilder, "clearLeft">;
  },
): RecurringJob[] {
  const { database, clock, logger, folder, blobs, settings } = options;
  const { logRetentionDays: retentionDays, logMaxLines: maxLines } = settings;
  const logs = { retentionDays, maxLines };
  const mover = new LogMover({ database, clock, logger, blobs, moves: movesLogs(options), ...logs });
  return [
    every({
      ...{ database, clock },
      kind: "control_plane.move_logs",
      everyMs: 60 * 60_000,
      handler: async ({ fence, signal }) => {
        await mover.run(fence, signal);
      },
    }),
    every({
      ...{ database, clock },
      kind: "control_plane.maintain",
      everyMs: 10 * 60_000,
      handler: async ({ signal }) => {
        await maintain({ database, clock, logger, folder, blobs, logs }, signal);
        await supervisor.removeOthers();
        await builder.clearLeft();
        await removePlaces(options);
        await services.previews.removeEnded();
        await services.domains.removeExpired();
        await services.domainRechecks.queueDue();
        await tracing.endUnusedKeys();
        // Last: the cluster may refuse it, for want of rights.
        await options.runtime.applyLimits?.();
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

/** What a runtime keeps for each workspace goes with the workspace, and not with its last deployment. */
async function removePlaces({ runtime, workspaceExists }: ControlPlaneOptions): Promise<void> {
  if (workspaceExists === undefined) return;
  await runtime.removeWorkspaces?.(async (workspaceId) => !(await workspaceExists(workspaceId)));
}
