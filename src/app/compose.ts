import { type AgentServer, createAgentServer } from "./agent-server/agent-server.ts";
import { platformUserConfigurable, readPlatformUser } from "./agent-server/auth/platform-user.ts";
import { GraphRegistry } from "./agent-server/graphs/graph-registry.ts";
import { withPersistence } from "./agent-server/graphs/javascript/loaded-graph.ts";
import { loadServerGraphs } from "./agent-server/graphs/javascript/server-graphs.ts";
import { type AuthService, createAuthService } from "./auth-service/auth-service.ts";
import { type BuiltinGraph, builtinGraphs } from "./builtin-graphs/builtin-graphs.ts";
import { type BulkExportArea, createBulkExport } from "./bulk-export/bulk-export.ts";
import {
  type ChatApp,
  type Assistant as ChatAssistant,
  type ChatGraph,
  createChatApp,
} from "./chat-app/chat-app.ts";
import { composeConsole } from "./compose-console.ts";
import { composeControlPlane } from "./compose-control-plane.ts";
import type { Config } from "./config.ts";
import { providerKeys } from "./config.ts";
import type { ControlPlane } from "./control-plane/control-plane.ts";
import type { Clock } from "./platform/clock.ts";
import type { Database } from "./platform/db/database.ts";
import { createFailedCredentials } from "./platform/http/failed-credentials.ts";
import { createHttpApp, type HttpApp } from "./platform/http/http-app.ts";
import { createIdempotencyStore, deleteExpiredKeys } from "./platform/http/idempotency-store.ts";
import type { ApiDocument } from "./platform/http/openapi.ts";
import type { Route } from "./platform/http/route.ts";
import { systemRoutes } from "./platform/http/system-routes.ts";
import { every, pruneJob } from "./platform/jobs/job-schedule.ts";
import { createJobWorker, type JobWorker } from "./platform/jobs/job-worker.ts";
import type { Logger } from "./platform/logger.ts";
import { createMetrics } from "./platform/metrics.ts";
import { createNetworkGuard } from "./platform/network-guard.ts";
import { version } from "./platform/package-facts.ts";
import type { SecretBox } from "./platform/secret-box.ts";
import { createRunExportSource } from "./traces/export/run-export-source.ts";
import { readPriceFile } from "./traces/ingest/price-file.ts";
import { createTraces, type Traces } from "./traces/traces.ts";
import { includesBulkExport } from "./workspaces/workspace.ts";
import { createWorkspaces, type Workspaces } from "./workspaces/workspaces.ts";

/** What areas are made of. */
export type Ground = {
  config: Config;
  database: Database;
  /** For connections of their own, such as COPY. */
  databaseUrl: string;
  secretBox: SecretBox;
  clock: Clock;
  logger: Logger;
  publicUrl(): string;
  /** Where the console was built, when not in its own folder. */
  consoleFolder?: string | undefined;
  /** Where processes of this machine reach it, whatever people use. */
  internalUrl(): string;
};

export type Areas = {
  workspaces: Workspaces;
  controlPlane: ControlPlane;
  authService: AuthService;
  agentServer: AgentServer;
  traces: Traces;
  bulkExport: BulkExportArea;
  chat: ChatApp;
  jobs: JobWorker;
  startJobs(): Promise<void>;
  http: HttpApp;
  routes: Route[];
};

/** The composition root: the only place where areas meet. Builds everything, starts nothing. */
export async function composeAreas(ground: Ground): Promise<Areas & { documents: ApiDocument[] }> {
  const { config, database, secretBox, clock, logger } = ground;
  const metrics = createMetrics();
  metrics.poolGauges(() => database.poolStats());
  const failedCredentials = createFailedCredentials({
    perMinute: config.failedCredentialsPerMinute,
    trustedProxies: config.trustedProxies,
  });
  const workspaces: Workspaces = createWorkspaces({
    database,
    secretBox,
    clock,
    logger,
    publicUrl: ground.publicUrl,
    sessionLimits: config.signIn.sessions,
    oidc: config.signIn.oidc,
    failedCredentials,
    audit: config.audit,
    edition: config.edition,
    beforeWorkspaceDelete: (workspaceId) => controlPlane.beforeWorkspaceDelete(workspaceId),
    onDeparture: (tx, departure) => authService.leave(tx, departure),
  });
  const network = createNetworkGuard({ allowPrivateAddresses: config.allowPrivateAddresses });
  const authService = createAuthService({
    database,
    secretBox,
    clock,
    logger,
    guard: network,
    publicUrl: ground.publicUrl,
    config,
  });
  const controlPlane = composeControlPlane({
    config,
    database,
    databaseUrl: ground.databaseUrl,
    secretBox,
    clock,
    logger,
    network,
    publicUrl: ground.publicUrl,
    internalUrl: ground.internalUrl,
    keys: workspaces.platformKeys,
    tokens: workspaces.deploymentTokens,
    passes: workspaces.pagePasses,
    audit: workspaces.audit,
    projects: () => traces.projects,
    authorize: (...request) => http.authorize(...request),
    isPlatformCredential: workspaces.isCredential,
  });
  const traces = createTraces({
    database,
    clock,
    logger,
    metrics,
    publicUrl: ground.publicUrl,
    seal: secretBox,
    workspaceName: workspaces.nameOf,
    modelPrices: await readPriceFile(config.modelPricesFile),
  });
  const builtin = builtinGraphs({
    environment: providerKeys(),
    accounts: {
      ...authService.agentAccess,
      userOf: readPlatformUser,
      fetch: network.guardedFetch,
      async access(user, request) {
        const found = await authService.agentAccess.access(user, request);
        if (found.status === "completed") {
          await workspaces.audit.recordTokenRead(user, found.provider.id, request.agentId);
        }
        return found;
      },
    },
  });
  const served = await loadServerGraphs(builtin);
  const agentServer = createAgentServer({
    database,
    logger,
    graphs: new GraphRegistry(served.graphs),
    version: version(),
    runConcurrency: config.runConcurrency,
    runLeaseMs: config.runLeaseMs,
    runTimeoutMs: config.runTimeoutMs,
    publicUrl: ground.publicUrl,
    clock,
    network,
    webhookSecret: config.webhookSecret,
    streamKeepMs: config.streamKeepMs,
    protocolEvents: config.protocolEvents,
    testHooks: config.testHooks,
    mayAct: ({ workspaceId, userId }) => workspaces.mayStartRuns(workspaceId, userId),
    ...(config.tracing
      ? {
          trace: (place, span) => traces.spans.record(place, "post", span),
          feedbackUrls: (...asked) => traces.feedbackUrls(...asked),
        }
      : {}),
  });
  const bulkExport = createBulkExport({
    database,
    databaseUrl: ground.databaseUrl,
    clock,
    logger,
    secretBox,
    source: createRunExportSource({ database }),
    limits: config.exports,
    allowPrivateAddresses: config.allowPrivateAddresses,
    ambientCredentials: config.edition !== "cloud",
    needsPaidPlan: async (organizationId) =>
      !includesBulkExport(config.edition, await workspaces.planOf(organizationId)),
  });
  const chat = createChatApp({
    logger,
    assistants: builtin.map(chatAssistant),
    identify: platformUserConfigurable,
  });
  const idempotency = createIdempotencyStore({
    sql: database.sql,
    clock,
    seal: (text, context) => secretBox.seal(text, context),
    open: (sealed, context) => secretBox.open(sealed, context),
  });
  const sweepKeys = every({
    kind: "http.sweep_idempotency_keys",
    database,
    clock,
    everyMs: 3_600_000,
    handler: async () => {
      await deleteExpiredKeys(database.sql, clock.now());
    },
  });
  const recurring = [
    pruneJob({ database, clock }),
    sweepKeys,
    ...workspaces.recurring,
    ...agentServer.recurring,
    ...traces.recurringJobs,
    ...authService.recurring,
    ...controlPlane.recurring,
  ];
  const jobs = createJobWorker({
    database,
    clock,
    logger,
    handlers: {
      ...agentServer.jobHandlers,
      ...authService.jobHandlers,
      ...Object.fromEntries(recurring.map((job) => [job.kind, job.handler])),
    },
  });
  const console = composeConsole({ database, logger, folder: ground.consoleFolder });
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
      graphLibraryVersion: served.kit.version,
      flags: { assistants: true, crons: true, langsmith: true, langsmith_tracing_replicas: true },
    },
  });
  const control = [...workspaces.routes, ...controlPlane.routes, ...authService.routes, ...console.routes];
  const tracing = [...traces.routes, ...bulkExport.routes];
  const routes = [
    ...system,
    ...control,
    ...controlPlane.hiddenRoutes,
    ...agentServer.routes,
    ...tracing,
    ...chat.routes,
    ...console.pageRoutes,
  ];
  const documents = apiDocuments({
    system,
    control,
    agent: agentServer.routes,
    traces: tracing,
    chat: chat.routes,
  });
  const http: HttpApp = createHttpApp({
    routes,
    authenticator: workspaces.authenticator,
    agentAuthRequired: config.agentAuthRequired,
    failedCredentials,
    audit: workspaces.audit,
    logger,
    metrics,
    corsOrigins: config.corsOrigins,
    cors: { neverTrusted: (origin) => controlPlane.isDeploymentOrigin(origin) },
    documents,
    validateResponses: config.validateResponses,
    idempotency,
    aliases: { "/api-host": ["/v1", "/v2", "/o"] },
  });
  const startJobs = async () => {
    for (const job of recurring) await job.start();
    await jobs.start();
  };
  return {
    workspaces,
    controlPlane,
    authService,
    agentServer,
    traces,
    bulkExport,
    chat,
    jobs,
    startJobs,
    http,
    routes,
    documents,
  };
}

function apiDocuments(
  routes: Record<"system" | "control" | "agent" | "traces" | "chat", Route[]>,
): ApiDocument[] {
  return [
    {
      path: "/openapi.json",
      title: "Treadle",
      version: version(),
      description: "The whole platform: control plane, agent server, traces and exports on one host.",
      routes: [...routes.system, ...routes.agent, ...routes.control, ...routes.traces, ...routes.chat],
    },
    {
      path: "/v2/openapi.json",
      title: "Treadle control plane",
      version: version(),
      description: "Workspaces, keys, deployments and the auth service.",
      routes: routes.control,
    },
    {
      path: "/api/v1/openapi.json",
      title: "Treadle traces and exports",
      version: version(),
      description: "Tracing, feedback, datasets and bulk export.",
      routes: routes.traces,
    },
  ];
}

/** The built-in graphs as the example chat takes them: with its own checkpointer, slow enough to be watched. */
function chatAssistant({ graphId, description, graph }: BuiltinGraph): ChatAssistant {
  return {
    assistant_id: graphId,
    name: graphId[0]!.toUpperCase() + graphId.slice(1),
    description,
    settings: { reasoning: "always", token_delay_ms: 15 },
    withCheckpointer: (checkpointer) => withPersistence(graph, { checkpointer }) as unknown as ChatGraph,
  };
}
