import { type AgentServer, createAgentServer } from "../agent-server/agent-server.ts";
import { readPlatformUser, readPlatformWorkspace } from "../agent-server/auth/platform-user.ts";
import { GraphRegistry } from "../agent-server/graphs/graph-registry.ts";
import type { loadServerGraphs } from "../agent-server/graphs/javascript/server-graphs.ts";
import type { AuthService } from "../auth-service/auth-service.ts";
import { type BuiltinGraph, builtinGraphs, checkAgentSettings } from "../builtin-graphs/builtin-graphs.ts";
import { providerKeys } from "../config/index.ts";
import type { NetworkGuard } from "../platform/network/network-guard.ts";
import { version } from "../platform/package-facts.ts";
import type { Traces } from "../traces/traces.ts";
import type { Workspaces } from "../workspaces/workspaces.ts";
import type { WorkingGround } from "./ground.ts";

export type AgentServerPorts = {
  network: NetworkGuard;
  workspaces: Workspaces;
  authService: AuthService;
  traces: Traces;
};

/** The built-in graphs, with people's accounts; each token they take is in the audit log. */
export function composeBuiltinGraphs(
  ports: Pick<AgentServerPorts, "network" | "workspaces" | "authService">,
): BuiltinGraph[] {
  const { agentAccess } = ports.authService;
  return builtinGraphs({
    environment: providerKeys(),
    findModelKey: async (configurable, provider) => {
      const workspaceId = readPlatformWorkspace(configurable);
      return workspaceId === undefined ? undefined : ports.workspaces.modelKeys.find(workspaceId, provider);
    },
    accounts: {
      userOf: readPlatformUser,
      fetch: (url, init) => ports.network.guardedFetch(url, init),
      decline: (user, authId) => agentAccess.decline(user, authId),
      async access(user, request) {
        const found = await agentAccess.access(user, request);
        if (found.status === "completed") {
          await ports.workspaces.audit.recordTokenRead(user, found.provider.id, request.agentId);
        }
        return found;
      },
    },
  });
}

/** The agent server of the platform itself, over the built-in graphs. */
export function composeAgentServer(
  { config, database, clock, logger, publicUrl }: WorkingGround,
  { network, workspaces, traces }: Omit<AgentServerPorts, "authService">,
  { graphs }: Awaited<ReturnType<typeof loadServerGraphs>>,
): AgentServer {
  return createAgentServer({
    database,
    clock,
    logger,
    network,
    publicUrl,
    graphs: new GraphRegistry(graphs),
    checkSettings: checkAgentSettings,
    version: version(),
    runConcurrency: config.runConcurrency,
    runLeaseMs: config.runLeaseMs,
    runTimeoutMs: config.runTimeoutMs,
    webhookSecret: config.webhookSecret,
    streamKeepMs: config.streamKeepMs,
    protocolEvents: config.protocolEvents,
    mayAct: ({ workspaceId, userId }) => workspaces.directory.mayStartRuns(workspaceId, userId),
    ...(config.tracing
      ? {
          trace: (place, span) => traces.spans.record(place, "post", span),
          feedbackUrls: (...asked) => traces.feedbackUrls(...asked),
        }
      : {}),
  });
}
