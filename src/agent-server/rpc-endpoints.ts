import type { Database } from "../platform/db/database.ts";
import type { Logger } from "../platform/logger.ts";
import { a2aRoutes } from "./a2a/a2a-routes.ts";
import { A2aService } from "./a2a/a2a-service.ts";
import type { AssistantService } from "./assistants/assistant-service.ts";
import type { AgentGuard } from "./auth/agent-guard.ts";
import type { AgentRoute } from "./auth/agent-route.ts";
import type { RunnableGraphs } from "./graphs/graph-registry.ts";
import { RpcPermits } from "./json-rpc/rpc-permits.ts";
import { mcpRoutes } from "./mcp/mcp-routes.ts";
import { McpService } from "./mcp/mcp-service.ts";
import type { RunAnswers } from "./runs/run-responses.ts";
import type { StateService } from "./threads/state-service.ts";
import type { ThreadService } from "./threads/thread-service.ts";

export type RpcEndpointsOptions = {
  database: Database;
  logger: Logger;
  graphs: RunnableGraphs;
  assistants: AssistantService;
  guard: AgentGuard | undefined;
  answers: RunAnswers;
  states: StateService;
  threads: ThreadService;
  version: string;
  /** Where clients reach this server: by the headers of a request where these can be believed. */
  publicUrl(headers?: Headers): string;
};

/** The assistants as other programs' tools (MCP) and as other agents' colleagues (A2A). */
export function createRpcEndpoints(options: RpcEndpointsOptions): AgentRoute[] {
  const { database, logger, graphs, assistants, answers, states, threads } = options;
  const { service: runs, feed, callerOf } = answers;
  const permits = new RpcPermits({ guard: options.guard, database });
  const mcp = new McpService({
    database,
    logger,
    graphs,
    assistants,
    permits,
    runs,
    removeThread: (workspaceId, threadId) => threads.remove(workspaceId, threadId),
    version: options.version,
  });
  const a2a = new A2aService({
    database,
    graphs,
    assistants,
    permits,
    runs,
    states,
    publicUrl: options.publicUrl,
  });
  return [...mcpRoutes({ mcp, logger, callerOf }), ...a2aRoutes({ a2a, runs, feed, logger, callerOf })];
}
