import { TableGrowth } from "../platform/db/table-growth.ts";
import { isUuid } from "../platform/ids.ts";
import type { AgentGround } from "./agent-ground.ts";
import type { AgentServerOptions } from "./agent-server-options.ts";
import { goesWithItsRun } from "./delivery/terminal-event.ts";
import { exhaustedSpans } from "./execution/attempt-spans.ts";
import { RunExecutor } from "./execution/run-executor.ts";
import { RunWorker } from "./execution/run-worker.ts";
import { RunService } from "./runs/run-service.ts";
import { forgetRunCheckpoints } from "./threads/forget-run.ts";
import { temporaryThreads } from "./threads/thread-service.ts";

export type AgentRuns = { service: RunService; worker: RunWorker };

/** Runs: who takes them on and stops them, and who does them. */
export function createAgentRuns(options: AgentServerOptions, ground: AgentGround): AgentRuns {
  const { database, graphs, feed, processId, checkpoints, defaults, webhooks, project } = ground;
  const worker: RunWorker = createRunWorker(options, ground, (run, result) => service.rollback(run, result));
  const service = new RunService({
    database,
    graphs,
    feed,
    worker,
    processId,
    ensureDefaults: (workspaceId) => defaults.ensure(workspaceId),
    guard: project.guard,
    webhooks,
    defaultTtl: project.threadTtl ?? null,
    tracing: options.trace ? {} : options.libraryTracing,
    givesFeedback: options.feedbackUrls !== undefined,
    drainCheckpoints: () => checkpoints.drain(),
    hasCheckpoint: async (threadId, checkpointNs, checkpointId) =>
      isUuid(checkpointId) && (await checkpoints.get({ threadId, checkpointNs, checkpointId })) !== undefined,
    forgetCheckpoints: (run) => forgetRunCheckpoints({ database, checkpoints, graphs }, run),
  });
  return { service, worker };
}

/** What a run leaves rows in. */
const tablesOfRuns = [
  ...["threads", "runs", "thread_events"],
  ...["checkpoints", "checkpoint_blobs", "checkpoint_writes"],
];

function createRunWorker(
  options: AgentServerOptions,
  ground: AgentGround,
  onRollback: RunService["rollback"],
): RunWorker {
  const { database, logger, graphs, feed, processId, processes, webhooks, pruner } = ground;
  const growth = new TableGrowth({ sql: database.sql, logger, tables: tablesOfRuns });
  const temporary = temporaryThreads(database);
  return new RunWorker({
    database,
    executor: createRunExecutor(options, ground),
    feed,
    logger,
    processId,
    takers: () => processes.takers,
    graphIds: graphs.allIds,
    concurrency: options.runConcurrency,
    leaseMs: options.runLeaseMs,
    runTimeoutMs: options.runTimeoutMs,
    beforeEnd: (run, result) => webhooks.announce(run, result),
    onEnd: async (run) => {
      growth.note();
      if (goesWithItsRun(run)) await temporary.add(run.thread_id);
      await pruner.runEnded();
    },
    onExhausted: (run, result) => {
      const place = { workspaceId: run.workspace_id, project: run.kwargs.tracing_project ?? run.graph_id };
      for (const span of options.trace ? exhaustedSpans(run, result.outcome, new Date()) : [])
        options.trace?.(place, span);
      options.attemptTraces?.exhausted(run, result.outcome);
    },
    onRollback,
  });
}

function createRunExecutor(options: AgentServerOptions, ground: AgentGround): RunExecutor {
  const { graphs, events, feed, logger } = ground;
  return new RunExecutor({
    graphs,
    events,
    feed,
    logger,
    feedbackUrls: options.feedbackUrls,
    attemptTraces: options.attemptTraces,
    placesIn: options.project?.placesIn,
    serverMetadata: {
      langgraph_host: "self-hosted",
      langgraph_plan: "developer",
      treadle_version: options.version,
    },
  });
}
