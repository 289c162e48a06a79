import { type AgentServer, createAgentServer } from "./agent-server/agent-server.ts";
import { builtinGraphs } from "./agent-server/graphs/builtin/builtin-graphs.ts";
import { GraphRegistry } from "./agent-server/graphs/graph-registry.ts";
import { type LoadedGraph, withPersistence } from "./agent-server/graphs/loaded-graph.ts";
import { type AuthService, createAuthService } from "./auth-service/auth-service.ts";
import { type BulkExportArea, createBulkExport } from "./bulk-export/bulk-export.ts";
import {
  type ChatApp,
  type Assistant as ChatAssistant,
  type ChatGraph,
  createChatApp,
} from "./chat-app/chat-app.ts";
import type { Config } from "./config.ts";
import { providerKeys } from "./config.ts";
import { migrationsFolder, version } from "./package-facts.ts";
import { type Clock, systemClock } from "./platform/clock.ts";
import { Closers } from "./platform/closers.ts";
import type { Database } from "./platform/db/database.ts";
import { type EmbeddedPostgres, startEmbeddedPostgres } from "./platform/db/embedded-postgres.ts";
import { migrate } from "./platform/db/migrate.ts";
import { openDatabase } from "./platform/db/open-database.ts";
import { openSecretBox } from "./platform/encryption-keys.ts";
import { createHttpApp, type HttpApp } from "./platform/http/http-app.ts";
import { createIdempotencyStore, deleteExpiredKeys } from "./platform/http/idempotency-store.ts";
import type { ApiDocument } from "./platform/http/openapi.ts";
import type { ServerEnv } from "./platform/http/pipeline.ts";
import type { Route } from "./platform/http/route.ts";
import { listen, type RunningServer } from "./platform/http/server.ts";
import { systemRoutes } from "./platform/http/system-routes.ts";
import { every, pruneJob } from "./platform/jobs/job-schedule.ts";
import { createJobWorker, type JobWorker } from "./platform/jobs/job-worker.ts";
import { createLogger, type Logger } from "./platform/logger.ts";
import { createMetrics } from "./platform/metrics.ts";
import { createNetworkGuard } from "./platform/network-guard.ts";
import type { SecretBox } from "./platform/secret-box.ts";
import { createRunExportSource } from "./traces/export/run-export-source.ts";
import { createTraces, type Traces } from "./traces/traces.ts";
import { readCredentials, writeCredentials } from "./workspaces/credentials-file.ts";
import { requiresPaidPlan } from "./workspaces/workspace.ts";
import { createWorkspaces, type Workspaces } from "./workspaces/workspaces.ts";

export type Started = {
  url: string;
  port: number;
  databaseUrl: string;
  notes: string[];
  workspaceId: string;
  /** Null when this start did not make it: it is in the credentials file. */
  apiKey: string | null;
  dataDir: string;
  database: "embedded" | "external";
};

export type App = {
  /** Opens the database, brings it up to date and builds the areas. `start` does it by itself. */
  prepare(): Promise<void>;
  /** Serves on the configured address. */
  start(): Promise<Started>;
  /** Drains requests and runs, then closes in reverse order; names what it had to interrupt. */
  stop(): Promise<{ interrupted: string[] }>;
  fetch(request: Request, env?: ServerEnv): Response | Promise<Response>;
  readonly routes: Route[];
};

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
};

type Areas = {
  workspaces: Workspaces;
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
  const workspaces = createWorkspaces({ database, secretBox, clock, logger });
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
  const traces = createTraces({ database, clock, logger, metrics });
  const builtin = await builtinGraphs({ environment: providerKeys() });
  const agentServer = createAgentServer({
    database,
    logger,
    graphs: new GraphRegistry(builtin.graphs),
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
    ...(config.tracing ? { trace: (place, span) => traces.spans.record(place, "post", span) } : {}),
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
      requiresPaidPlan(config.edition, await workspaces.planOf(organizationId)),
  });
  const chat = createChatApp({ logger, assistants: await chatAssistants(builtin.graphs) });
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
    ...agentServer.recurring,
    ...traces.recurringJobs,
    ...authService.recurring,
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
  const system = systemRoutes({
    database,
    metrics,
    info: {
      version: version(),
      graphLibraryVersion: builtin.kit.version,
      flags: { assistants: true, crons: true, langsmith: true, langsmith_tracing_replicas: true },
    },
  });
  const control = [...workspaces.routes, ...authService.routes];
  const tracing = [...traces.routes, ...bulkExport.routes];
  const routes = [...system, ...control, ...agentServer.routes, ...tracing, ...chat.routes];
  const documents = apiDocuments({
    system,
    control,
    agent: agentServer.routes,
    traces: tracing,
    chat: chat.routes,
  });
  const http = createHttpApp({
    routes,
    authenticator: workspaces.authenticator,
    agentAuthRequired: config.agentAuthRequired,
    logger,
    metrics,
    corsOrigins: config.corsOrigins,
    documents,
    validateResponses: config.validateResponses,
    idempotency,
    aliases: { "/api-host": ["/v1", "/v2"] },
  });
  const startJobs = async () => {
    for (const job of recurring) await job.start();
    await jobs.start();
  };
  return {
    workspaces,
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
      version: "0.1.0",
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
function chatAssistants(graphs: ReadonlyMap<string, LoadedGraph>): Promise<ChatAssistant[]> {
  return Promise.all(
    [...graphs.values()].map(async ({ graphId, description = "", resolve }) => {
      const graph = await resolve({}, "threads.create_run");
      return {
        assistant_id: graphId,
        name: graphId[0]!.toUpperCase() + graphId.slice(1),
        description,
        settings: { reasoning: "always", token_delay_ms: 15 },
        withCheckpointer: (checkpointer) => withPersistence(graph, { checkpointer }) as unknown as ChatGraph,
      } satisfies ChatAssistant;
    }),
  );
}

export async function createApp(
  config: Config,
  options: { logger?: Logger; clock?: Clock } = {},
): Promise<App> {
  const logger = options.logger ?? createLogger({ level: config.logLevel });
  const clock = options.clock ?? systemClock;
  const closers = new Closers();
  let areas: Areas | undefined;
  let server: RunningServer | undefined;
  let preparing: Promise<Prepared> | undefined;
  const publicUrl = () => config.publicUrl ?? server?.url ?? `http://127.0.0.1:${config.port}`;

  async function prepare(): Promise<Prepared> {
    const postgres = await startPostgres(config, logger, closers);
    const databaseUrl = config.databaseUrl ?? postgres!.url;
    await migrate({ url: databaseUrl, directory: migrationsFolder, logger });
    const database = openDatabase({ url: databaseUrl, poolSize: config.databasePool, logger });
    closers.push(() => database.close());
    const box = await openSecretBox({
      dataDir: config.dataDir,
      secretKey: config.secretKey,
      database,
      logger,
    });
    closers.push(() => box.stop());
    areas = await composeAreas({
      config,
      database,
      databaseUrl,
      secretBox: box.secretBox,
      clock,
      logger,
      publicUrl,
    });
    const { workspaces } = areas;
    closers.push(() => workspaces.stop());
    const remembered = await readCredentials(config.dataDir);
    const identity = await workspaces.bootstrap({
      apiKey: config.apiKey,
      workspaceId: config.workspaceId,
      rememberedKey: remembered?.apiKey,
    });
    const { authService } = areas;
    await authService.start();
    closers.push(() => authService.stop());
    await areas.traces.start();
    await areas.agentServer.start();
    await areas.bulkExport.start();
    await areas.startJobs();
    return { databaseUrl, notes: postgres?.notes ?? [], identity };
  }

  return {
    get routes() {
      return prepared(areas).routes;
    },
    fetch: (request, env) => prepared(areas).http.fetch(request, env),
    async prepare() {
      preparing ??= prepare();
      await preparing;
    },
    async start() {
      preparing ??= prepare();
      const { databaseUrl, notes, identity } = await preparing;
      const { http, agentServer } = prepared(areas);
      const onUpgrade = agentServer.onUpgrade(http.authorize);
      server = await listen(http, { host: config.host, port: config.port, logger, onUpgrade });
      await writeCredentials(config.dataDir, {
        url: publicUrl(),
        workspaceId: identity.workspaceId,
        apiKey: identity.apiKey,
      });
      return {
        url: publicUrl(),
        port: server.port,
        databaseUrl,
        notes,
        workspaceId: identity.workspaceId,
        apiKey: identity.apiKeyOrigin === "known" ? null : identity.apiKey,
        dataDir: config.dataDir,
        database: config.databaseUrl ? "external" : "embedded",
      };
    },
    async stop() {
      const interrupted: string[] = [];
      const requests = await server?.close({ graceMs: config.shutdownGraceMs });
      if (requests) interrupted.push(...requests.interrupted);
      if (areas) {
        const runs = await areas.agentServer.stop(config.shutdownGraceMs);
        interrupted.push(...runs.interrupted);
        await areas.chat.stop();
        await areas.bulkExport.stop({ graceMs: config.shutdownGraceMs });
        await areas.jobs.stop({ graceMs: config.shutdownGraceMs });
        await areas.traces.stop();
      }
      await closers.run();
      return { interrupted };
    },
  };
}

type Prepared = {
  databaseUrl: string;
  notes: string[];
  identity: Awaited<ReturnType<Workspaces["bootstrap"]>>;
};

function prepared(areas: Areas | undefined): Areas {
  if (!areas) throw new Error("The app is used before it was prepared.");
  return areas;
}

async function startPostgres(
  config: Config,
  logger: Logger,
  closers: Closers,
): Promise<EmbeddedPostgres | undefined> {
  if (config.databaseUrl !== undefined) return undefined;
  const postgres = await startEmbeddedPostgres({ dataDir: config.dataDir, logger });
  closers.push(() => postgres.stop());
  return postgres;
}
