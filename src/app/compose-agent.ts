import { ownOriginOf } from "../agent-server/a2a/own-origin.ts";
import { type AgentServer, createAgentServer } from "../agent-server/agent-server.ts";
import { AgentGuard } from "../agent-server/auth/agent-guard.ts";
import { bringsKey, InstanceGuard, type Usage } from "../agent-server/auth/instance-guard.ts";
import { ProjectAuthenticator } from "../agent-server/auth/project-authenticator.ts";
import { SingleWorkspace } from "../agent-server/auth/single-workspace.ts";
import { AttemptTraces, tracingService } from "../agent-server/execution/attempt-traces.ts";
import { feedbackLinks } from "../agent-server/execution/feedback-links.ts";
import { GraphRegistry } from "../agent-server/graphs/graph-registry.ts";
import { readStoreTtl } from "../agent-server/graphs/javascript/project-store.ts";
import { createTypeSchemas } from "../agent-server/graphs/javascript/type-schemas.ts";
import { libraryTracing } from "../agent-server/graphs/library-tracing.ts";
import type { LoadedProject } from "../agent-server/graphs/loaded-project.ts";
import { readCorsRules } from "../agent-server/http-app/cors-rules.ts";
import { withProjectApp } from "../agent-server/http-app/custom-route-auth.ts";
import { cutPrefix, withoutPrefix } from "../agent-server/http-app/mount-prefix.ts";
import type { ProjectGlobals } from "../agent-server/http-app/project-globals.ts";
import { servedRoutes } from "../agent-server/http-app/served-routes.ts";
import { headersToLog } from "../agent-server/runs/caller-configurable.ts";
import type { StoreIndex } from "../agent-server/store/item-embedder.ts";
import { UiBundles } from "../agent-server/ui/ui-bundles.ts";
import { readWebhookConfig } from "../agent-server/webhooks/webhook-config.ts";
import { type AgentConfig, currentEnvironment, type readDefaultConfigs } from "../config/index.ts";
import type { Studio } from "../console/studio.ts";
import type { Clock } from "../platform/clock.ts";
import type { Database } from "../platform/db/database.ts";
import { createHttpApp, type HttpApp } from "../platform/http/pipeline/http-app.ts";
import type { Route } from "../platform/http/route.ts";
import type { OnRequest, OnUpgrade } from "../platform/http/server/server.ts";
import type { ServerEnv } from "../platform/http/server/server-env.ts";
import { systemRoutes } from "../platform/http/system-routes.ts";
import type { Logger } from "../platform/logger.ts";
import { Metrics } from "../platform/metrics.ts";
import { NetworkGuard } from "../platform/network/network-guard.ts";
import { readOwnUsage } from "../platform/own-usage.ts";
import { version } from "../platform/package-facts.ts";
import { composeJobs } from "./compose-jobs.ts";

export type AgentGround = {
  config: AgentConfig;
  project: LoadedProject;
  storeIndex: StoreIndex | undefined;
  /** Of the environment with what the project's own file adds to it. */
  defaultConfigs: ReturnType<typeof readDefaultConfigs>;
  globals: ProjectGlobals;
  database: Database;
  clock: Clock;
  logger: Logger;
  publicUrl(): string;
  /** The studio beside it; undefined where people come through the platform. */
  studio: Studio | undefined;
};

/** One agent server for one project. Builds everything, starts nothing. */
export function composeAgent(ground: AgentGround) {
  const { config, project, database, clock, logger } = ground;
  const prefix = prefixOf(ground);
  // The project's own code calls it as well, once everything is built.
  const agentServer = composeServer(ground, (request, env) => inner(request, env));
  const http = composeAgentHttp(ground, agentServer.routes);
  const upgrade = agentServer.onUpgrade(http.authorize);
  const onUpgrade: OnUpgrade = (incoming, ...rest) => {
    if (prefix) incoming.url = cutPrefix(incoming.url ?? "/", prefix);
    upgrade(incoming, ...rest);
  };
  const inner = frontDoor({ project, logger, http });
  const fetch: typeof inner = prefix ? (request, env) => inner(withoutPrefix(request, prefix), env) : inner;
  const areas = [agentServer];
  return {
    areas,
    workers: [...agentServer.workers, composeJobs({ database, clock, logger }, areas)],
    processId: agentServer.processId,
    fetch,
    /** For the project's own code, which does not know about a prefix. */
    inner,
    /** Without the project's application. */
    own: (request: Request) => http.fetch(request),
    door: doorOf(config, project, { onUpgrade, usage: (withRuns) => usageOf(agentServer, withRuns) }),
  };
}

function prefixOf({ config, project }: AgentGround): string | undefined {
  return config.mountPrefix ?? project.config.file.http?.mount_prefix;
}

function composeServer(ground: AgentGround, inner: ProjectFetch): AgentServer {
  const { config, project, storeIndex, database, clock, logger, publicUrl, defaultConfigs, globals } = ground;
  const { file } = project.config;
  const webhooks = readWebhookConfig(file, currentEnvironment());
  const ttl = file.checkpointer?.ttl;
  const isDeployed = config.instanceSecret !== undefined;
  const traced = libraryTracing(currentEnvironment(), { isDeployed });
  const service = tracingService(currentEnvironment());
  return createAgentServer({
    database,
    logger,
    clock,
    graphs: new GraphRegistry(project.graphs, project.broken),
    version: version(),
    runConcurrency: config.runConcurrency,
    runLeaseMs: config.runLeaseMs,
    runTimeoutMs: config.runTimeoutMs,
    publicUrl: (headers) => (isDeployed && headers && ownOriginOf(headers)) || publicUrl(),
    network: new NetworkGuard({
      allowPrivateAddresses: config.allowPrivateAddresses && !webhooks.denyPrivate,
    }),
    webhookSecret: config.webhookSecret,
    streamKeepMs: config.streamKeepMs,
    protocolEvents: config.protocolEvents,
    feedbackUrls: feedbackLinks(currentEnvironment()),
    libraryTracing: traced,
    attemptTraces: traced && service && new AttemptTraces(service, logger),
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
      mountPrefix: prefixOf(ground),
      placesIn: ground.studio && project.config.directory,
      typeSchemas: createTypeSchemas(project.config.directory),
    },
  });
}

/** The routes of the agent server and of the system, as the project's file asks for them. */
function composeAgentHttp(ground: AgentGround, own: Route[]): HttpApp {
  const { config, project, database, logger } = ground;
  const { file } = project.config;
  const metrics = new Metrics();
  metrics.poolGauges(() => database.poolStats());
  const authenticator = authenticatorOf(ground);
  const system = systemRoutes({
    database,
    metrics,
    info: {
      version: version(),
      graphLibrary: project.libraryVersions,
      flags: { assistants: true, crons: true, langsmith: false, langsmith_tracing_replicas: true },
    },
  });
  const routes = servedRoutes([...system, ...own], file.http);
  const hidden = ground.studio?.routes() ?? [];
  const title = "Treadle agent server";
  const description = `The graphs of ${project.config.path}.`;
  const document = { path: "/openapi.json", title, version: version(), description, routes } as const;
  const { origins, ...cors } = readCorsRules(file);
  const loggingRule = file.http?.logging_headers;
  return createHttpApp({
    routes: [...routes, ...hidden],
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
}

/** The project's own authentication where it has one; else the key of this server. */
function authenticatorOf({ config, project, logger, globals, studio }: AgentGround) {
  const single = new SingleWorkspace({
    workspaceId: config.workspaceId,
    apiKey: config.apiKey,
    checkTenant: config.workspaceGiven,
    isInProcess: () => globals.isInProcess(),
  });
  const own = studio ? studio.letIn(single) : single;
  if (!project.auth) return own;
  return new ProjectAuthenticator({
    ...{ auth: project.auth, logger, own, ownRequired: config.authRequired },
    behindGateway: config.instanceSecret !== undefined,
  });
}

function uiOf(
  { config: { ui: files, directory, file } }: LoadedProject,
  logger: Logger,
): UiBundles | undefined {
  if (files.size === 0 || file.http?.disable_ui) return undefined;
  return new UiBundles({ directory, files, shared: file.ui_config?.shared ?? [], logger });
}

async function usageOf(server: Pick<AgentServer, "load">, withRuns: boolean): Promise<Usage> {
  const { cpuSeconds, memoryBytes } = await readOwnUsage();
  const used = { cpu_seconds: cpuSeconds, memory_bytes: memoryBytes };
  if (!withRuns) return used;
  const { pending, running } = await server.load();
  return { ...used, pending_runs: pending, running_runs: running };
}

/** Behind a gateway, only the gateway gets in. */
function doorOf(
  { instanceSecret }: AgentConfig,
  project: LoadedProject,
  { onUpgrade, usage }: { onUpgrade: OnUpgrade; usage(withRuns: boolean): Promise<Usage> },
) {
  if (instanceSecret === undefined) return { onUpgrade };
  const announced = {
    graphs: [...project.graphs.keys()],
    broken: Object.fromEntries([...project.broken].map(([id, error]) => [id, error.message])),
  };
  const guard = new InstanceGuard(instanceSecret, announced, usage);
  const onRequest: OnRequest = (...request) => guard.onRequest(...request);
  return { onRequest, onUpgrade: guard.onUpgrade(onUpgrade) };
}

type FrontDoor = Pick<AgentGround, "project" | "logger"> & { http: HttpApp };
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
