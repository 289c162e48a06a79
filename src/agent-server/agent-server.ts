import type { Database } from "../platform/db/database.ts";
import type { Route } from "../platform/http/route.ts";
import { newId } from "../platform/ids.ts";
import type { Logger } from "../platform/logger.ts";
import { DefaultAssistants } from "./assistants/default-assistants.ts";
import { CheckpointStore } from "./checkpoints/checkpoint-store.ts";
import { SaverFactory } from "./checkpoints/saver-factory.ts";
import type { GraphRegistry } from "./graphs/graph-registry.ts";
import { ServerProcesses } from "./processes.ts";
import { RunExecutor } from "./runs/run-executor.ts";
import { runRoutes } from "./runs/run-routes.ts";
import { RunService } from "./runs/run-service.ts";
import { RunWorker } from "./runs/run-worker.ts";
import { statelessRunRoutes } from "./runs/stateless-run-routes.ts";
import { EventLog } from "./streaming/event-log.ts";
import { ThreadFeed } from "./streaming/thread-feed.ts";
import { forgetRunCheckpoints } from "./threads/forget-run.ts";
import { stateRoutes } from "./threads/state-routes.ts";
import { StateService } from "./threads/state-service.ts";
import { threadRoutes } from "./threads/thread-routes.ts";
import { temporaryThreads, ThreadService } from "./threads/thread-service.ts";
import { finalResultOf } from "./threads/thread-store.ts";

export type AgentServerOptions = {
  database: Database;
  logger: Logger;
  graphs: GraphRegistry;
  version: string;
  runConcurrency: number;
  runLeaseMs: number;
  runTimeoutMs: number;
  publicUrl(): string;
};

export type AgentServer = {
  routes: Route[];
  start(): Promise<void>;
  /** Lets runs finish, returns the rest to the queue and names them. */
  stop(graceMs: number): Promise<{ interrupted: string[] }>;
};

/** Area C: assistants, threads, runs, state, store and crons, over one registry of graphs. */
export function createAgentServer(options: AgentServerOptions): AgentServer {
  const { database, logger, graphs } = options;
  const processId = newId();
  const feed = new ThreadFeed(database);
  const events = new EventLog(database, feed);
  const checkpoints = new CheckpointStore(database);
  const savers = new SaverFactory(checkpoints);
  const defaults = new DefaultAssistants(database, graphs.allIds);
  const processes = new ServerProcesses({
    database,
    logger,
    processId,
    onChange: (count) => feed.setOthersListen(count > 1),
  });
  const executor = new RunExecutor({
    graphs,
    savers,
    stores: { forWorkspace: () => undefined },
    events,
    feed,
    logger,
    serverMetadata: {
      langgraph_host: "self-hosted",
      langgraph_plan: "developer",
      treadle_version: options.version,
    },
  });
  const temporary = temporaryThreads(database);
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
    onEnd: async (run) => {
      if (run.temporary) await temporary.add(run.thread_id);
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
    forgetCheckpoints: (run) => forgetRunCheckpoints({ database, checkpoints, savers, graphs }, run),
  });
  const answers = {
    service,
    feed,
    finalResult: (run: { thread_id: string; run_id: string }) => finalResultOf(database, run),
  };

  const threads = new ThreadService({
    database,
    defaultTtl: null,
    stopRuns: (workspaceId, threadId) => service.stopThread(workspaceId, threadId),
  });
  const states = new StateService({ database, graphs, savers });

  return {
    routes: [
      ...threadRoutes({ database, threads, states }),
      ...stateRoutes(states),
      ...runRoutes({ ...answers, database }),
      ...statelessRunRoutes(answers),
    ],
    async start() {
      await feed.start();
      await processes.start();
      await worker.start();
    },
    async stop(graceMs) {
      const interrupted = await worker.stop(graceMs);
      await events.drain();
      await feed.stop();
      await processes.stop();
      return { interrupted };
    },
  };
}
