import { loadServerGraphs } from "../agent-server/graphs/javascript/server-graphs.ts";
import { createAuthService } from "../auth-service/auth-service.ts";
import { createBulkExport } from "../bulk-export/bulk-export.ts";
import type { Isolation } from "../control-plane/sandbox/isolation.ts";
import type { Area, Worker } from "../platform/areas/area.ts";
import { FailedCredentials } from "../platform/http/access/failed-credentials.ts";
import { createHttpApp, type HttpApp } from "../platform/http/http-app.ts";
import { DatabaseIdempotency, deleteExpiredKeys } from "../platform/http/idempotency/idempotency-store.ts";
import type { ApiDocument } from "../platform/http/openapi/openapi.ts";
import type { Route } from "../platform/http/route.ts";
import type { OnRequest, OnUpgrade } from "../platform/http/server/server.ts";
import { systemRoutes } from "../platform/http/system-routes.ts";
import { every } from "../platform/jobs/job-schedule.ts";
import { Metrics } from "../platform/metrics.ts";
import { NetworkGuard } from "../platform/network/network-guard.ts";
import { version } from "../platform/package-facts.ts";
import { RunExportSource } from "../traces/export/run-export-source.ts";
import { createTraces } from "../traces/traces.ts";
import { readPriceFile } from "../traces/usage/price-file.ts";
import { includesBulkExport } from "../workspaces/identity/workspace.ts";
import { readCredentials } from "../workspaces/installation/credentials-file.ts";
import { createWorkspaces, type Workspaces } from "../workspaces/workspaces.ts";
import { apiDocuments } from "./api-documents.ts";
import { composeAgentServer, composeBuiltinGraphs } from "./compose-agent-server.ts";
import { composeChat } from "./compose-chat.ts";
import { composeConsole } from "./compose-console.ts";
import { composeControlPlane } from "./compose-control-plane.ts";
import { composeJobs } from "./compose-jobs.ts";
import type { Ground } from "./ground.ts";

export type Platform = {
  /** In the order of their start: each may stand on those before it. */
  areas: Area[];
  /** Of all areas, with the job worker they share. A process may start some of them. */
  workers: Worker[];
  routes: Route[];
  documents: ApiDocument[];
  http: HttpApp;
  onUpgrade: OnUpgrade;
  onRequest: OnRequest;
  workspaces: Pick<Workspaces, "identity" | "makeSignInLink">;
  isolation(): Promise<Isolation>;
};

/** The composition root: the only place where areas meet. Builds everything, starts nothing. */
export async function composePlatform(ground: Ground): Promise<Platform> {
  const { config, database, secretBox, clock, logger, publicUrl } = ground;
  const metrics = new Metrics();
  metrics.poolGauges(() => database.poolStats());
  const network = new NetworkGuard({ allowPrivateAddresses: config.allowPrivateAddresses });
  const failedCredentials = new FailedCredentials({
    perMinute: config.failedCredentialsPerMinute,
    trustedProxies: config.trustedProxies,
  });
  const workspaces = createWorkspaces({
    ...{ database, secretBox, clock, logger, publicUrl, failedCredentials },
    sessionLimits: config.signIn.sessions,
    oidc: config.signIn.oidc,
    audit: config.audit,
    edition: config.edition,
    bootstrapConfig: async () => ({
      apiKey: config.apiKey,
      workspaceId: config.workspaceId,
      rememberedKey: (await readCredentials(config.dataDir))?.apiKey,
    }),
    beforeWorkspaceDelete: (workspaceId) => controlPlane.beforeWorkspaceDelete(workspaceId),
    onDeparture: (tx, departure) => authService.leave(tx, departure),
  });
  const authService = createAuthService({
    ...{ database, secretBox, clock, logger, publicUrl, config },
    guard: network,
  });
  const traces = createTraces({
    ...{ database, clock, logger, metrics, publicUrl },
    seal: secretBox,
    workspaceName: (workspaceId) => workspaces.directory.nameOf(workspaceId),
    modelPrices: await readPriceFile(config.modelPricesFile),
  });
  const builtin = composeBuiltinGraphs({ network, workspaces, authService });
  const served = await loadServerGraphs(builtin);
  const agentServer = composeAgentServer(ground, { network, workspaces, traces }, served);
  const bulkExport = createBulkExport({
    ...{ database, clock, logger, secretBox },
    databaseUrl: ground.databaseUrl,
    source: new RunExportSource({ database }),
    limits: config.exports,
    allowPrivateAddresses: config.allowPrivateAddresses,
    ambientCredentials: config.edition !== "cloud",
    needsPaidPlan: async (organizationId) =>
      !includesBulkExport(config.edition, await workspaces.plans.planOf(organizationId)),
  });
  const controlPlane = composeControlPlane({
    ...{ config, database, secretBox, clock, logger, network, publicUrl },
    databaseUrl: ground.databaseUrl,
    internalUrl: ground.internalUrl,
    keys: workspaces.platformKeys,
    tokens: workspaces.deploymentTokens,
    passes: workspaces.pagePasses,
    audit: workspaces.audit,
    projects: () => traces.projects,
    authorize: (...request) => http.authorize(...request),
    isPlatformCredential: workspaces.isCredential,
  });
  const console = composeConsole({ database, logger, folder: ground.consoleFolder });
  const chat = composeChat(logger, builtin);
  const areas: Area[] = [
    workspaces,
    authService,
    traces,
    agentServer,
    bulkExport,
    controlPlane,
    console,
    chat,
  ];

  const system = systemRoutes({
    database,
    metrics,
    hasRootPage: true,
    metadata: async () => {
      const { kind, setting, refusal } = await controlPlane.isolation();
      return { isolation: { kind, setting, deploys: refusal === null } };
    },
    info: {
      version: version(),
      graphLibrary: { javascript: served.kit.version },
      flags: { assistants: true, crons: true, langsmith: true, langsmith_tracing_replicas: true },
    },
  });
  const routes = [
    ...system,
    ...areas.flatMap((area) => area.routes),
    ...areas.flatMap((area) => area.hiddenRoutes ?? []),
  ];
  const documents = apiDocuments(system, {
    control: [workspaces, controlPlane, authService, console],
    agent: [agentServer],
    traces: [traces, bulkExport],
    chat: [chat],
  });
  const http: HttpApp = createHttpApp({
    ...{ routes, documents, logger, metrics, failedCredentials },
    authenticator: workspaces.authenticator,
    agentAuthRequired: config.agentAuthRequired,
    audit: workspaces.audit,
    corsOrigins: config.corsOrigins,
    cors: { neverTrusted: (origin) => controlPlane.isDeploymentOrigin(origin) },
    validateResponses: config.validateResponses,
    idempotency: new DatabaseIdempotency({
      sql: database.sql,
      clock,
      secretBox,
    }),
    aliases: { "/api-host": ["/v1", "/v2", "/o"] },
  });
  const sweepKeys = every({
    ...{ database, clock },
    kind: "http.sweep_idempotency_keys",
    everyMs: 3_600_000,
    handler: async () => {
      await deleteExpiredKeys(database.sql, clock.now());
    },
  });
  return {
    areas,
    workers: [...areas.flatMap((area) => area.workers), composeJobs(ground, areas, [sweepKeys])],
    routes,
    documents,
    http,
    onUpgrade: controlPlane.onUpgrade(agentServer.onUpgrade(http.authorize)),
    onRequest: controlPlane.onRequest(http.raw),
    workspaces,
    isolation: controlPlane.isolation,
  };
}
