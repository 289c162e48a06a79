import { TableGrowth } from "../platform/db/table-growth.ts";
import type { Caller } from "../platform/http/access/caller.ts";
import type { AgentGround } from "./agent-ground.ts";
import type { AgentRuns } from "./agent-runs.ts";
import type { AgentServerOptions } from "./agent-server-options.ts";
import { resolveAssistantId } from "./assistants/assistant.ts";
import { findAssistant } from "./assistants/assistant-store.ts";
import { createAssistants } from "./assistants/assistants.ts";
import type { AgentGuard } from "./auth/agent-guard.ts";
import { type Crons, createCrons } from "./crons/crons.ts";
import { createProtocol, type Protocol } from "./protocol/protocol.ts";
import type { CallerOf } from "./protocol/run-commands.ts";
import { callerConfigurable } from "./runs/caller-configurable.ts";
import type { RunAnswers } from "./runs/run-responses.ts";
import type { RunService } from "./runs/run-service.ts";
import { StateService } from "./threads/state-service.ts";
import { ThreadService } from "./threads/thread-service.ts";

export type AgentResources = ReturnType<typeof createAgentResources>;

/** What clients name in their requests: threads, their states, assistants, crons, and the streaming protocol. */
export function createAgentResources(options: AgentServerOptions, ground: AgentGround, runs: AgentRuns) {
  const { database, logger, graphs, checkpoints, defaults, project } = ground;
  const { service } = runs;
  const threads = new ThreadService({
    database,
    growth: new TableGrowth({ sql: database.sql, logger, tables: ["threads"] }),
    defaultTtl: project.threadTtl ?? null,
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
    checkSettings: options.checkSettings,
    ...(project.typeSchemas ? { typeSchemas: project.typeSchemas } : {}),
  });
  const callerOf: CallerOf = (caller, headers) => ({
    caller,
    callerConfigurable: callerConfigurable(headers, project.configurableHeaders ?? {}),
  });
  const answers: RunAnswers = {
    logger,
    service,
    feed: ground.feed,
    callerOf,
  };
  return {
    threads,
    states,
    assistants,
    answers,
    crons: cronsOf(options, ground, runs),
    protocol: protocolOf(ground, service, states, callerOf),
  };
}

function cronsOf(options: AgentServerOptions, ground: AgentGround, { service }: AgentRuns): Crons {
  const { database, clock, logger, graphs, defaults, webhooks } = ground;
  return createCrons({
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
}

function protocolOf(
  ground: AgentGround,
  runs: RunService,
  states: StateService,
  callerOf: CallerOf,
): Protocol {
  const { database, logger, feed } = ground;
  const { guard } = ground.project;
  return createProtocol({
    database,
    logger,
    feed,
    runs,
    states,
    callerOf,
    ...(guard ? { admit: (caller, threadId) => admitToThread(guard, caller, threadId) } : {}),
  });
}

/** A WebSocket passes by no guarded route, so the project's authorization is asked here. */
async function admitToThread(guard: AgentGuard, caller: Caller, threadId: string): Promise<Caller> {
  const rowFilter = await guard.check(caller, "threads", "read", { thread_id: threadId });
  return rowFilter ? { ...caller, rowFilter } : caller;
}
