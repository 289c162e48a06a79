import type { Area } from "../platform/areas/area.ts";
import { type Clock, systemClock } from "../platform/clock.ts";
import type { Database } from "../platform/db/database.ts";
import { TableGrowth } from "../platform/db/table-growth.ts";
import type { Authorize } from "../platform/http/access/access.ts";
import type { Caller } from "../platform/http/access/caller.ts";
import type { OnUpgrade } from "../platform/http/server/server.ts";
import { isUuid, newId } from "../platform/ids.ts";
import type { Logger } from "../platform/logger.ts";
import { NetworkGuard } from "../platform/network/network-guard.ts";
import { within } from "../platform/within.ts";
import { resolveAssistantId } from "./assistants/assistant.ts";
import { findAssistant } from "./assistants/assistant-store.ts";
import { createAssistants } from "./assistants/assistants.ts";
import { DefaultAssistants, type DefaultConfig } from "./assistants/default-assistants.ts";
import type { AgentGuard } from "./auth/agent-guard.ts";
import type { AgentRoute } from "./auth/agent-route.ts";
import { guardRoutes, type RouteGuardOptions, requireRow } from "./auth/route-guard.ts";
import { CheckpointStore } from "./checkpoints/checkpoint-store.ts";
import { type CronsOptions, createCrons } from "./crons/crons.ts";
import { EventLog } from "./delivery/event-log.ts";
import { eventPruneJob } from "./delivery/event-pruner.ts";
import { ThreadFeed } from "./delivery/thread-feed.ts";
import { type FeedbackUrls, RunExecutor } from "./execution/run-executor.ts";
import { RunWorker } from "./execution/run-worker.ts";
import { GraphRegistry } from "./graphs/graph-registry.ts";
import type { RuntimeGround } from "./graphs/graph-runtime.ts";
import type { LibraryTracing } from "./graphs/library-tracing.ts";
import type { TypeSchemas } from "./graphs/schema-catalog.ts";
import { ServerProcesses } from "./processes.ts";
import { createProtocol } from "./protocol/protocol.ts";
import { createRpcEndpoints } from "./rpc-endpoints.ts";
import { callerConfigurable, type HeaderRule } from "./runs/caller-configurable.ts";
import { runRoutes } from "./runs/run-routes.ts";
import { RunService } from "./runs/run-service.ts";
import { statelessRunRoutes } from "./runs/stateless-run-routes.ts";
import type { StoreTtl } from "./store/item.ts";
import type { StoreIndex } from "./store/item-embedder.ts";
import { createStore } from "./store/store.ts";
import { forgetRunCheckpoints } from "./threads/forget-run.ts";
import { stateRoutes } from "./threads/state-routes.ts";
import { StateService } from "./threads/state-service.ts";
import type { ThreadTtl } from "./threads/thread.ts";
import { threadRoutes } from "./threads/thread-routes.ts";
import { ThreadService, temporaryThreads } from "./threads/thread-service.ts";
import { expireThread, finalResultOf } from "./threads/thread-store.ts";
import { threadSweepJob } from "./threads/thread-sweeper.ts";
import type { UiBundles } from "./ui/ui-bundles.ts";
import { uiRoutes } from "./ui/ui-routes.ts";
import { RunWebhooks, type RunWebhooksOptions, webhookJobKind } from "./webhooks/run-webhooks.ts";
import { defaultWebhookConfig, type WebhookConfig } from "./webhooks/webhook-config.ts";

export type AgentServerOptions = {
  database: Database;
  logger: Logger;
  graphs: GraphRegistry;
  version: string;
  runConcurrency: number;
  runLeaseMs: number;
  runTimeoutMs: number;
  /** What is held for all readers of streams together; those who do not read are cut beyond it. */
  readerBytes?: number;
  publicUrl(): string;
  clock?: Clock;
  /** For requests whose target a caller chose; by default no private addresses. */
  network?: NetworkGuard;
  webhookSecret?: string | undefined;
  /** How long the stream of a run can be joined again after its end. */
  streamKeepMs?: number;
  /** Events of the streaming protocol a thread keeps. */
  protocolEvents?: number;
  /** Whether runs may still be started in the name of who made a cron; asked at each firing. */
  mayAct?: CronsOptions["mayAct"];
  /** Where the steps of runs are traced. Must neither wait nor throw. */
  trace?: RuntimeGround["trace"];
  /** Links with which feedback on a run is given, by key; without it nobody can ask for them. */
  feedbackUrls?: FeedbackUrls | undefined;
  /** Where runs are traced by the graph library instead. */
  libraryTracing?: LibraryTracing | undefined;
  /** What a project's own file asks for; the built-in graphs have none. */
  project?: ProjectOptions;
};

export type ProjectOptions = {
  guard?: AgentGuard | undefined;
  webhooks?: WebhookConfig;
  /** Reaches the routes of the project's own application, and none of the server's. */
  callProject?: RunWebhooksOptions["callProject"];
  configurableHeaders?: HeaderRule | undefined;
  defaultConfigs?: Readonly<Record<string, DefaultConfig>>;
  threadTtl?: ThreadTtl | null;
  sweepIntervalMs?: number | undefined;
  sweepLimit?: number | undefined;
  storeIndex?: StoreIndex | undefined;
  storeTtl?: StoreTtl | undefined;
  /** Schemas read from TypeScript types, where a graph has none of its own. */
  typeSchemas?: TypeSchemas | undefined;
  /** Components for chat pages. */
  ui?: UiBundles | undefined;
  /** The path the server is mounted at, for the addresses it returns. */
  mountPrefix?: string | undefined;
};

/** How long the result of a queued stateless run can still be read. */
const queuedResultSeconds = 60;
const defaultSweepMs = 5 * 60_000;
const defaultSweepLimit = 1_000;
const defaultStreamKeepMs = 120_000;
const defaultProtocolEvents = 20_000;
const defaultProject: ProjectOptions = {};
/** What one of the last steps of a stop may take. */
const lastStepMs = 300;

export type AgentServer = Omit<Area, "routes"> & {
  /** Under which the runs of this process are leased. */
  processId: string;
  routes: AgentRoute[];
  /** WebSockets, which do not pass through routes. */
  onUpgrade(authorize: Authorize): OnUpgrade;
};

/** Area C: assistants, threads, runs, state, store and crons, over one registry of graphs. */
export function createAgentServer(options: AgentServerOptions): AgentServer {
  const { database, logger, clock = systemClock, project = defaultProject } = options;
  const { guard, threadTtl: defaultTtl = null } = project;
  const processId = newId();
  const feed = new ThreadFeed(database, {
    ...(options.readerBytes === undefined ? {} : { readerBytes: options.readerBytes }),
    onReaderCut: () =>
      logger.warn("a reader of a stream was cut off: it took nothing while others needed the memory"),
  });
  const events = new EventLog(database, feed);
  const checkpoints = new CheckpointStore(database);
  const defaults = new DefaultAssistants(database, options.graphs.allIds, project.defaultConfigs);
  const webhooks = new RunWebhooks({
    database,
    clock,
    logger,
    network: options.network ?? new NetworkGuard({ allowPrivateAddresses: false }),
    config: project.webhooks ?? defaultWebhookConfig,
    secret: options.webhookSecret,
    callProject: project.callProject,
  });
  const store = createStore({
    database,
    clock,
    logger,
    ...(project.storeIndex ? { index: project.storeIndex } : {}),
    ...(project.storeTtl ? { ttl: project.storeTtl } : {}),
  });
  const graphs = GraphRegistry.bind(options.graphs, {
    checkpoints,
    items: store.items,
    trace: options.trace,
    libraryTraces: options.libraryTracing !== undefined,
  });
  const processes = new ServerProcesses({
    database,
    logger,
    processId,
    onChange: (count) => feed.setOthersListen(count > 1),
  });
  const executor = new RunExecutor({
    graphs,
    events,
    feed,
    logger,
    feedbackUrls: options.feedbackUrls,
    serverMetadata: {
      langgraph_host: "self-hosted",
      langgraph_plan: "developer",
      treadle_version: options.version,
    },
  });
  const temporary = temporaryThreads(database);
  const growth = new TableGrowth({
    sql: database.sql,
    logger,
    tables: ["threads", "runs", "thread_events", "checkpoints", "checkpoint_blobs", "checkpoint_writes"],
  });
  const worker: RunWorker = new RunWorker({
    database,
    executor,
    feed,
    logger,
    processId,
    graphIds: graphs.allIds,
    concurrency: options.runConcurrency,
    leaseMs: options.runLeaseMs,
    runTimeoutMs: options.runTimeoutMs,
    beforeEnd: (run, result) => webhooks.announce(run, result),
    onEnd: async (run) => {
      growth.note();
      if (!run.temporary) return;
      // Whoever waits for a run that was queued may be elsewhere and still has to read its result.
      if (run.newThread) await temporary.add(run.thread_id);
      else await expireThread(database.sql, run.thread_id, queuedResultSeconds);
    },
    onRollback: (run, result) => service.rollback(run, result),
  });
  const service = new RunService({
    database,
    graphs,
    feed,
    worker,
    processId,
    ensureDefaults: (workspaceId) => defaults.ensure(workspaceId),
    guard,
    webhooks,
    defaultTtl,
    tracing: options.trace ? {} : options.libraryTracing,
    givesFeedback: options.feedbackUrls !== undefined,
    drainCheckpoints: () => checkpoints.drain(),
    hasCheckpoint: async (threadId, checkpointNs, checkpointId) =>
      isUuid(checkpointId) && (await checkpoints.get({ threadId, checkpointNs, checkpointId })) !== undefined,
    forgetCheckpoints: (run) => forgetRunCheckpoints({ database, checkpoints, graphs }, run),
  });
  const answers = {
    logger,
    service,
    feed,
    finalResult: (run: { thread_id: string; run_id: string }) => finalResultOf(database, run),
    callerOf: (caller: Caller, headers: Headers) => ({
      caller,
      callerConfigurable: callerConfigurable(headers, project.configurableHeaders ?? {}),
    }),
  };

  const threads = new ThreadService({
    database,
    growth,
    defaultTtl,
    stopRuns: (workspaceId, threadId) => service.stopThread(workspaceId, threadId),
  });
  const states = new StateService({ database, graphs, checkpoints });
  const assistants = createAssistants({
    database,
    logger,
    graphs,
    ensureDefaults: (workspaceId) => defaults.ensure(workspaceId),
    runs: service,
    removeThreads: (workspaceId, threadIds) => threads.prune(workspaceId, threadIds, "delete"),
    ...(project.typeSchemas ? { typeSchemas: project.typeSchemas } : {}),
  });
  const rpcRoutes = createRpcEndpoints({
    database,
    logger,
    graphs,
    assistants: assistants.service,
    guard,
    answers,
    states,
    threads,
    version: options.version,
    publicUrl: options.publicUrl,
  });
  const protocol = createProtocol({
    database,
    logger,
    feed,
    runs: service,
    states,
    callerOf: answers.callerOf,
    ...(guard ? { admit: (caller, threadId) => admitToThread(guard, caller, threadId) } : {}),
  });

  const crons = createCrons({
    database,
    clock,
    logger,
    startRun: (workspaceId, threadId, request) => service.create(workspaceId, threadId, request),
    mayAct: options.mayAct,
    checkWebhook: (url) => webhooks.check(url),
    resolveAssistant: async (workspaceId, id) => {
      await defaults.ensure(workspaceId);
      const assistant = await findAssistant(database.sql, workspaceId, resolveAssistantId(graphs, id));
      return assistant?.assistant_id ?? null;
    },
  });

  const assistantIdOf = (id: string) => (graphs.has(id) ? resolveAssistantId(graphs, id) : id);
  const routes = [
    ...assistants.routes,
    ...uiRoutes({
      bundles: project.ui,
      graphOf: async (caller, id) => {
        if (guard) await admitToAssistant(guard, caller, id, { database, assistantIdOf });
        return (await assistants.service.get(caller.workspaceId, id)).graph_id;
      },
      mountPrefix: project.mountPrefix ?? "",
    }),
    ...rpcRoutes,
    ...threadRoutes({ database, threads, states }),
    ...stateRoutes(states, threads),
    ...runRoutes({ ...answers, database }),
    ...statelessRunRoutes(answers),
    ...protocol.routes,
    ...store.routes,
    ...crons.routes,
  ];

  return {
    processId,
    routes: guard ? guardRoutes(routes, { guard, database, assistantIdOf }) : routes,
    onUpgrade: protocol.onUpgrade,
    jobHandlers: { [webhookJobKind]: (context) => webhooks.deliver(context) },
    recurringJobs: [
      ...store.recurringJobs,
      threadSweepJob({
        database,
        clock,
        logger,
        intervalMs: project.sweepIntervalMs ?? defaultSweepMs,
        limit: project.sweepLimit ?? defaultSweepLimit,
      }),
      eventPruneJob({
        database,
        clock,
        logger,
        keepMs: options.streamKeepMs ?? defaultStreamKeepMs,
        protocolEvents: options.protocolEvents ?? defaultProtocolEvents,
      }),
    ],
    workers: [
      {
        name: "agent-server.runs",
        start: () => worker.start(),
        stop: (stop) => worker.stop(stop),
      },
      crons.worker,
    ],
    async start() {
      await feed.start();
      await processes.start();
      await store.start();
      // So that no request waits for schemas; what cannot be read is logged there.
      void assistants.warm();
      void project.ui?.warm();
    },
    async stop() {
      await project.ui?.stop();
      // None of these may hold up a stop while the database is away.
      await within(lastStepMs, events.drain());
      await within(lastStepMs, Promise.all([feed.stop(), processes.stop()]));
    },
  };
}

/** A WebSocket passes by no guarded route, so the project's authorization is asked here. */
async function admitToThread(guard: AgentGuard, caller: Caller, threadId: string): Promise<Caller> {
  const rowFilter = await guard.check(caller, "threads", "read", { thread_id: threadId });
  return rowFilter ? { ...caller, rowFilter } : caller;
}

/** As for a route that reads it. */
async function admitToAssistant(
  guard: AgentGuard,
  caller: Caller,
  id: string,
  options: Pick<RouteGuardOptions, "database" | "assistantIdOf">,
): Promise<void> {
  if (!caller.principal) return;
  const filter = await guard.check(caller, "assistants", "read", { assistant_id: id });
  await requireRow(caller, { kind: "assistant", id }, filter, options);
}
