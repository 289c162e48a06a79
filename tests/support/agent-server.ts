import { Client } from "@langchain/langgraph-sdk";
import { type AgentServer, createAgentServer } from "../../src/agent-server/agent-server.ts";
import type { AgentServerOptions } from "../../src/agent-server/agent-server-options.ts";
import { GraphRegistry } from "../../src/agent-server/graphs/graph-registry.ts";
import { startArea, stopArea } from "../../src/platform/areas/area.ts";
import { openDatabase } from "../../src/platform/db/connection/open-database.ts";
import type { Database } from "../../src/platform/db/database.ts";
import type { Caller } from "../../src/platform/http/access/caller.ts";
import { createHttpApp } from "../../src/platform/http/pipeline/http-app.ts";
import { listen } from "../../src/platform/http/server/server.ts";
import { createLogger } from "../../src/platform/logger.ts";
import { Metrics } from "../../src/platform/metrics.ts";
import { testGraphs } from "./test-graphs.ts";

export type TestAgentServer = {
  url: string;
  client: Client;
  database: Database;
  server: AgentServer;
  stop(graceMs?: number): Promise<void>;
};

export const testCaller: Caller = {
  organizationId: "00000000-0000-4000-8000-000000000001",
  workspaceId: "00000000-0000-4000-8000-000000000002",
  userId: "00000000-0000-4000-8000-000000000003",
  role: "admin",
  via: "loopback",
  scopes: null,
  mayUseAccounts: true,
};

/** An agent server over graphs made for tests, on a database that several of them may share. */
export async function startTestAgentServer(
  databaseUrl: string,
  overrides: Partial<AgentServerOptions> = {},
  /** Without them it serves, and executes nothing. */
  { workers = true }: { workers?: boolean } = {},
): Promise<TestAgentServer> {
  const logger = createLogger({ level: "silent" });
  const database = openDatabase({ url: databaseUrl, poolSize: 8, logger });
  const server = createAgentServer({
    database,
    logger,
    graphs: new GraphRegistry(await testGraphs()),
    version: "test",
    runConcurrency: 100,
    runLeaseMs: 2_000,
    runTimeoutMs: 60_000,
    publicUrl: () => "http://127.0.0.1",
    ...overrides,
  });
  await (workers ? startArea(server) : server.start());
  const http = createHttpApp({
    routes: server.routes,
    authenticator: { authenticate: async () => null, loopbackCaller: async () => testCaller },
    agentAuthRequired: false,
    logger,
    metrics: new Metrics({ processMetrics: false }),
    corsOrigins: [],
    documents: [],
    validateResponses: true,
  });
  const running = await listen(http, {
    host: "127.0.0.1",
    port: 0,
    logger,
    onUpgrade: server.onUpgrade(http.authorize),
  });
  return {
    url: running.url,
    client: new Client({ apiUrl: running.url, callerOptions: { maxRetries: 0 } }),
    database,
    server,
    async stop(graceMs = 0) {
      const runs = stopArea(server, { graceMs });
      await Promise.all([running.close({ graceMs, streamsUntil: runs }), runs]);
      await database.close();
    },
  };
}
