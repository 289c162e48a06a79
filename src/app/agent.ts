import { createAgentServer } from "./agent-server/agent-server.ts";
import { AgentGuard } from "./agent-server/auth/agent-guard.ts";
import { bringsKey, createInstanceGuard } from "./agent-server/auth/instance-guard.ts";
import { createProjectAuthenticator } from "./agent-server/auth/project-authenticator.ts";
import { createSingleWorkspace } from "./agent-server/auth/single-workspace.ts";
import { feedbackLinks } from "./agent-server/execution/feedback-links.ts";
import { startWatchdog, type WatchdogOptions } from "./agent-server/execution/watchdog.ts";
import { GraphRegistry } from "./agent-server/graphs/graph-registry.ts";
import { type LoadedProject, loadProject } from "./agent-server/graphs/javascript/graph-loader.ts";
import { loadStoreIndex, readStoreTtl } from "./agent-server/graphs/javascript/project-store.ts";
import { createTypeSchemas } from "./agent-server/graphs/javascript/type-schemas.ts";
import { libraryTracing } from "./agent-server/graphs/library-tracing.ts";
import { readCorsRules } from "./agent-server/http-app/cors-rules.ts";
import { withProjectApp } from "./agent-server/http-app/custom-route-auth.ts";
import { cutPrefix, withoutPrefix } from "./agent-server/http-app/mount-prefix.ts";
import { installProjectGlobals, type ProjectGlobals } from "./agent-server/http-app/project-globals.ts";
import { servedRoutes } from "./agent-server/http-app/served-routes.ts";
import { headersToLog } from "./agent-server/runs/caller-configurable.ts";
import type { StoreIndex } from "./agent-server/store/item-embedder.ts";
import { UiBundles } from "./agent-server/ui/ui-bundles.ts";
import { readWebhookConfig } from "./agent-server/webhooks/webhook-config.ts";
import {
  type AgentConfig,
  applyEnvironment,
  currentEnvironment,
  type DefaultAssistantConfigs,
  readDefaultConfigs,
} from "./config.ts";
import type { Clock } from "./platform/clock.ts";
import { Closers } from "./platform/closers.ts";
import type { Database } from "./platform/db/database.ts";
import { DatabaseClock } from "./platform/db/database-clock.ts";
import { startEmbeddedPostgres } from "./platform/db/embedded-postgres.ts";
import { migrate } from "./platform/db/migrate.ts";
import { openDatabase } from "./platform/db/open-database.ts";
import { AppError } from "./platform/errors.ts";
import { createHttpApp } from "./platform/http/http-app.ts";
import type { ServerEnv } from "./platform/http/pipeline.ts";
import { listen, type OnUpgrade, type RunningServer } from "./platform/http/server.ts";
import { systemRoutes } from "./platform/http/system-routes.ts";
import { pruneJob } from "./platform/jobs/job-schedule.ts";
import { createJobWorker } from "./platform/jobs/job-worker.ts";
import type { Logger } from "./platform/logger.ts";
import { createMetrics } from "./platform/metrics.ts";
import { createNetworkGuard } from "./platform/network-guard.ts";
import { migrationsFolder, version } from "./platform/package-facts.ts";

export type StartedAgent = {
  url: string;
  port: number;
  databaseUrl: string;
  graphs: string[];
  /** Graph to the reason it is not served. */
  broken: Record<string, string>;
  notes: string[];
};

export type AgentApp = {
  start(): Promise<StartedAgent>;
  stop(): Promise<{ interrupted: string[] }>;
};

/** Composes one agent server for one project: the sibling of `app.ts`, for `treadle agent`. */
export function createAgentApp(
  config: AgentConfig,
  options: { logger: Logger; clock?: Clock; watchdog?: WatchdogOptions | undefined },
): AgentApp {
  const { logger } = options;
  const closers = new Closers();
  const interrupted: string[] = [];

  return {
    async start() {
      const globals = installProjectGlobals(logger);
      closers.push(async () => globals.remove());
      const project = await loadProject({
        configPath: config.configPath,
        environment: currentEnvironment(),
        applyEnvironment,
      });
      closers.push(() => project.close());
      refuseToStandOpen(config, project);
      const notes = [...project.warnings];
      const { url: databaseUrl, notes: databaseNotes } = await openPostgres(config, logger, closers);
      await migrate({ url: databaseUrl, directory: migrationsFolder, logger });
      const database = openDatabase({
        url: databaseUrl,
        poolSize: config.databasePool,
        logger,
        applicationName: "treadle agent",
      });
      closers.push(() => database.close());
      const databaseClock = new DatabaseClock({ database, logger });
      await databaseClock.start();
      closers.push(async () => databaseClock.stop());
      const clock = options.clock ?? databaseClock;
      let url = config.publicUrl ?? "";
      const storeIndex = await loadStoreIndex(project.config, currentEnvironment());
      const defaultConfigs = readDefaultConfigs(currentEnvironment());
      const parts = compose({
        ...{ config, project, storeIndex, defaultConfigs, database, clock, logger, globals },
        publicUrl: () => url,
      });
      globals.serve((request) => parts.inner(request));
      // Before any run begins and not while the project loads, which may block for as long as it takes.
      if (options.watchdog) {
        const { processId } = parts.agentServer;
        closers.push(startWatchdog({ ...options.watchdog, record: { databaseUrl, processId } }).stop);
      }
      await parts.agentServer.start();
      let server: RunningServer | undefined;
      closers.push(async () => {
        const graceMs = config.shutdownGraceMs;
        // One grace for all of them: requests, runs and jobs end beside one another.
        const runs = parts.agentServer.stop(graceMs);
        const [requests, left] = await Promise.all([
          server?.close({ graceMs, streamsUntil: runs }),
          runs,
          parts.jobs.stop({ graceMs }),
        ]);
        interrupted.push(...(requests?.interrupted ?? []), ...left.interrupted);
      });
      for (const job of parts.recurring) await job.start();
      await parts.jobs.start();
      server = await listen(
        { fetch: parts.fetch },
        { host: config.host, port: config.port, logger, ...doorOf(config, parts.onUpgrade) },
      );
      url = config.publicUrl ?? server.url;
      for (const [graphId, error] of project.broken) {
        logger.error({ graphId, reason: error.message }, "a graph cannot be served; the others are");
      }
      return {
        url,
        port: server.port,
        databaseUrl,
        graphs: [...project.graphs.keys()],
        broken: Object.fromEntries([...project.broken].map(([id, error]) => [id, error.message])),
        notes: [...notes, ...databaseNotes],
      };
    },
    async stop() {
      await closers.run();
      return { interrupted };
    },
  };
}

type Ground = {
  config: AgentConfig;
  project: LoadedProject;
  storeIndex: StoreIndex | undefined;
  /** Of the environment with what the project's own file adds to it. */
  defaultConfigs: DefaultAssistantConfigs;
  globals: ProjectGlobals;
  database: Database;
  clock: Clock;
  logger: Logger;
  publicUrl(): string;
};

function compose({ config, project, storeIndex, database, clock, logger, publicUrl, ...more }: Ground) {
  const { defaultConfigs, globals } = more;
  const { file } = project.config;
  const metrics = createMetrics();
  metrics.poolGauges(() => database.poolStats());
  const own = createSingleWorkspace({
    workspaceId: config.workspaceId,
    apiKey: config.apiKey,
    checkTenant: config.workspaceGiven,
    isInProcess: globals.isInProcess,
  });
  const authenticator = project.auth
    ? createProjectAuthenticator({
        ...{ auth: project.auth, logger, own, ownRequired: config.authRequired },
        behindGateway: config.instanceSecret !== undefined,
      })
    : own;
  const prefix = config.mountPrefix ?? file.http?.mount_prefix;
  const webhooks = readWebhookConfig(file, currentEnvironment());
  const ttl = file.checkpointer?.ttl;
  const agentServer = createAgentServer({
    database,
    logger,
    clock,
    graphs: new GraphRegistry(project.graphs, project.broken),
    version: version(),
    runConcurrency: config.runConcurrency,
    runLeaseMs: config.runLeaseMs,
    runTimeoutMs: config.runTimeoutMs,
    publicUrl,
    network: createNetworkGuard({
      allowPrivateAddresses: config.allowPrivateAddresses && !webhooks.denyPrivate,
    }),
    webhookSecret: config.webhookSecret,
    streamKeepMs: config.streamKeepMs,
    protocolEvents: config.protocolEvents,
    testHooks: config.testHooks,
    feedbackUrls: feedbackLinks(currentEnvironment()),
    libraryTracing: libraryTracing(currentEnvironment(), { isDeployed: config.instanceSecret !== undefined }),
    project: {
      guard: project.auth ? new AgentGuard(project.auth, logger) : undefined,
      webhooks,
      configurableHeaders: file.http?.configurable_headers ?? undefined,
      defaultConfigs,
      callProject:
        project.httpApp && ((request) => globals.outside(() => inner(request, { projectOnly: true }))),
      threadTtl: ttl?.default_ttl ? { minutes: ttl.default_ttl, strategy: ttl.strategy ?? "delete" } : null,
      sweepIntervalMs: ttl?.sweep_interval_minutes ? ttl.sweep_interval_minutes * 60_000 : undefined,
      sweepLimit: ttl?.sweep_limit ?? undefined,
      storeIndex,
      storeTtl: readStoreTtl(file),
      ui: uiOf(project, logger),
      mountPrefix: prefix,
      typeSchemas: createTypeSchemas(project.config.directory),
    },
  });
  const recurring = [pruneJob({ database, clock }), ...agentServer.recurring];
  const jobs = createJobWorker({
    database,
    clock,
    logger,
    handlers: {
      ...agentServer.jobHandlers,
      ...Object.fromEntries(recurring.map((job) => [job.kind, job.handler])),
    },
  });
  const system = systemRoutes({
    database,
    metrics,
    info: {
      version: version(),
      graphLibraryVersion: project.kit.version,
      flags: { assistants: true, crons: true, langsmith: false, langsmith_tracing_replicas: true },
    },
  });
  const routes = servedRoutes([...system, ...agentServer.routes], file.http);
  const title = "Treadle agent server";
  const description = `The graphs of ${project.config.path}.`;
  const document = { path: "/openapi.json", title, version: version(), description, routes } as const;
  const { origins, ...cors } = readCorsRules(file);
  const loggingRule = file.http?.logging_headers;
  const http = createHttpApp({
    routes,
    authenticator,
    agentAuthRequired: config.authRequired,
    logger,
    metrics,
    corsOrigins: config.corsOrigins.length > 0 ? config.corsOrigins : origins,
    cors,
    documents: file.http?.disable_meta ? [] : [document],
    validateResponses: config.validateResponses,
    ...(config.instanceSecret === undefined ? {} : { isKeyed: bringsKey }),
    ...(loggingRule ? { loggedHeaders: (headers) => headersToLog(headers, loggingRule) } : {}),
  });
  const upgrade = agentServer.onUpgrade(http.authorize);
  const onUpgrade: OnUpgrade = (incoming, ...rest) => {
    if (prefix) incoming.url = cutPrefix(incoming.url ?? "/", prefix);
    upgrade(incoming, ...rest);
  };
  const inner = frontDoor({ project, logger, http });
  const fetch: typeof inner = prefix ? (request, env) => inner(withoutPrefix(request, prefix), env) : inner;
  return { agentServer, recurring, jobs, fetch, inner, onUpgrade };
}

function uiOf(
  { config: { ui: files, directory, file } }: LoadedProject,
  logger: Logger,
): UiBundles | undefined {
  if (files.size === 0 || file.http?.disable_ui) return undefined;
  return new UiBundles({ directory, files, shared: file.ui_config?.shared ?? [], logger });
}

/** Behind a gateway nobody else gets in. */
function doorOf({ instanceSecret }: AgentConfig, onUpgrade: OnUpgrade) {
  if (instanceSecret === undefined) return { onUpgrade };
  const guard = createInstanceGuard(instanceSecret);
  return { onRequest: guard.onRequest, onUpgrade: guard.onUpgrade(onUpgrade) };
}

type FrontDoor = Pick<Ground, "project" | "logger"> & { http: ReturnType<typeof createHttpApp> };
type ProjectEnv = ServerEnv & { projectOnly?: boolean };
type ProjectFetch = (request: Request, env?: ProjectEnv) => Response | Promise<Response>;

/** The project's own application, then ours. */
function frontDoor({ project, logger, http }: FrontDoor): ProjectFetch {
  const { file } = project.config;
  const { httpApp: custom } = project;
  if (!custom) return (request, env) => http.fetch(request, env);
  const { authorize } = http;
  const own: ProjectFetch = (request, env) =>
    env?.projectOnly ? new Response(null, { status: 404 }) : http.fetch(request, env);
  return withProjectApp<ProjectEnv>({ custom, own, http: file.http, authorize, logger });
}

function refuseToStandOpen(config: AgentConfig, project: LoadedProject): void {
  if (!config.needsGuard || project.auth) return;
  throw new AppError({
    code: "config.invalid",
    kind: "invalid",
    message:
      "Callers are to be asked for a key, but there is none: set TREADLE_API_KEY to a text of 16 or more characters, " +
      `give ${config.configPath} an "auth" of its own, listen on 127.0.0.1 without LANGGRAPH_AUTH_TYPE, or say TREADLE_AGENT_AUTH=open.`,
  });
}

async function openPostgres(
  config: AgentConfig,
  logger: Logger,
  closers: Closers,
): Promise<{ url: string; notes: string[] }> {
  if (config.databaseUrl !== undefined) return { url: config.databaseUrl, notes: [] };
  const postgres = await startEmbeddedPostgres({ dataDir: config.dataDir, logger });
  closers.push(() => postgres.stop());
  return { url: postgres.url, notes: postgres.notes };
}
