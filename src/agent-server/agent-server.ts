import type { Area } from "../platform/areas/area.ts";
import type { Authorize } from "../platform/http/pipeline/authorize.ts";
import type { OnUpgrade } from "../platform/http/server/server.ts";
import { within } from "../platform/within.ts";
import { type AgentGround, createAgentGround } from "./agent-ground.ts";
import { createAgentResources } from "./agent-resources.ts";
import { agentRoutes } from "./agent-routes.ts";
import { createAgentRuns } from "./agent-runs.ts";
import type { AgentServerOptions } from "./agent-server-options.ts";
import type { AgentRoute } from "./auth/agent-route.ts";
import { giveBackRunsOf } from "./execution/lost-worker.ts";
import { type RunLoad, readRunLoad } from "./runs/run-load-store.ts";
import { threadSweepJob } from "./threads/thread-sweeper.ts";
import { webhookJobKind } from "./webhooks/run-webhooks.ts";

const defaultSweepMs = 5 * 60_000;
const defaultSweepLimit = 1_000;
/** What one of the last steps of a stop may take. */
const lastStepMs = 300;

export type AgentServer = Omit<Area, "routes"> & {
  /** Under which the runs of this process are leased. */
  processId: string;
  routes: AgentRoute[];
  /** Another process that leased runs under this id is gone: they are started again without waiting for their leases. */
  processLost(processId: string): void;
  /** Runs that wait, and those under way in this process. */
  load(): Promise<RunLoad>;
  /** WebSockets, which do not pass through routes. */
  onUpgrade(authorize: Authorize): OnUpgrade;
};

/** Area C: assistants, threads, runs, state, store and crons, over one registry of graphs. */
export function createAgentServer(options: AgentServerOptions): AgentServer {
  const ground = createAgentGround(options);
  const runs = createAgentRuns(options, ground);
  const resources = createAgentResources(options, ground, runs);
  const { processId, project, feed, events, processes, store, webhooks } = ground;
  const { worker } = runs;
  const { protocol, crons, assistants } = resources;
  return {
    processId,
    processLost: (lost) =>
      void giveBackRunsOf(lost, {
        ...options,
        onGivenBack: () => worker.wakeAll(),
        forget: (processId) => processes.lost(processId),
      }),
    load: () => readRunLoad(options.database.sql, processId),
    routes: agentRoutes(options, ground, resources),
    onUpgrade: protocol.onUpgrade,
    jobHandlers: { [webhookJobKind]: (context) => webhooks.deliver(context) },
    recurringJobs: recurringJobs(ground),
    workers: [
      {
        name: "agent-server.runs",
        start: async () => {
          await worker.start();
          await processes.takeRuns(true);
        },
        stop: async (stop) => {
          // The others deal to this one no more; what they deal until they know it, they take a moment later.
          void within(lastStepMs, processes.takeRuns(false));
          return await worker.stop(stop);
        },
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
      // None of these may delay a stop while the database is away.
      await within(lastStepMs, events.drain());
      await within(lastStepMs, Promise.all([feed.stop(), processes.stop()]));
    },
  };
}

function recurringJobs(ground: AgentGround): Area["recurringJobs"] {
  const { database, clock, logger, project, store, pruner } = ground;
  return [
    ...store.recurringJobs,
    pruner.job,
    threadSweepJob({
      database,
      clock,
      logger,
      intervalMs: project.sweepIntervalMs ?? defaultSweepMs,
      limit: project.sweepLimit ?? defaultSweepLimit,
    }),
  ];
}
