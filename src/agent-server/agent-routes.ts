import type { Caller } from "../platform/http/access/caller.ts";
import type { AgentGround } from "./agent-ground.ts";
import type { AgentResources } from "./agent-resources.ts";
import type { AgentServerOptions } from "./agent-server-options.ts";
import { resolveAssistantId } from "./assistants/assistant.ts";
import type { AgentGuard } from "./auth/agent-guard.ts";
import type { AgentRoute } from "./auth/agent-route.ts";
import { guardRoutes, type RouteGuardOptions, requireRow } from "./auth/route-guard.ts";
import { createRpcEndpoints } from "./rpc-endpoints.ts";
import { runByIdRoutes } from "./runs/run-by-id-routes.ts";
import { runJoinRoutes } from "./runs/run-join-routes.ts";
import { runRoutes } from "./runs/run-routes.ts";
import { runStartRoutes } from "./runs/run-start-routes.ts";
import { statelessRunRoutes } from "./runs/stateless-run-routes.ts";
import { historyRoutes } from "./threads/history-routes.ts";
import { stateChangeRoutes } from "./threads/state-change-routes.ts";
import { stateRoutes } from "./threads/state-routes.ts";
import { threadChangeRoutes } from "./threads/thread-change-routes.ts";
import { threadRoutes } from "./threads/thread-routes.ts";
import { threadStorageRoutes } from "./threads/thread-storage-routes.ts";
import { uiRoutes } from "./ui/ui-routes.ts";

type Places = Pick<RouteGuardOptions, "database" | "assistantIdOf">;

/** All routes of the server, behind the project's own authorization where it has one. */
export function agentRoutes(
  options: AgentServerOptions,
  ground: AgentGround,
  resources: AgentResources,
): AgentRoute[] {
  const { database, graphs, store } = ground;
  const { guard } = ground.project;
  const { assistants, protocol, crons } = resources;
  const places: Places = {
    database,
    assistantIdOf: (id) => (graphs.has(id) ? resolveAssistantId(graphs, id) : id),
  };
  const routes = [
    ...assistants.routes,
    ...componentRoutes(ground, resources, places),
    ...rpcRoutes(options, ground, resources),
    ...threadAndRunRoutes(ground, resources),
    ...protocol.routes,
    ...store.routes,
    ...crons.routes,
  ];
  return guard ? guardRoutes(routes, { guard, ...places }) : routes;
}

function componentRoutes({ project }: AgentGround, resources: AgentResources, places: Places): AgentRoute[] {
  const { guard } = project;
  return uiRoutes({
    bundles: project.ui,
    graphOf: async (caller, id) => {
      if (guard) await admitToAssistant(guard, caller, id, places);
      return (await resources.assistants.service.get(caller.workspaceId, id)).graph_id;
    },
    mountPrefix: project.mountPrefix ?? "",
  });
}

function rpcRoutes(
  options: AgentServerOptions,
  ground: AgentGround,
  resources: AgentResources,
): AgentRoute[] {
  const { database, logger, graphs, project } = ground;
  const { assistants, answers, states, threads } = resources;
  return createRpcEndpoints({
    database,
    logger,
    graphs,
    assistants: assistants.service,
    guard: project.guard,
    answers,
    states,
    threads,
    version: options.version,
    publicUrl: options.publicUrl,
  });
}

function threadAndRunRoutes({ database }: AgentGround, resources: AgentResources): AgentRoute[] {
  const { threads, states, answers } = resources;
  return [
    ...threadRoutes({ database, threads }),
    ...threadChangeRoutes({ threads, states }),
    ...threadStorageRoutes({ database, threads }),
    ...stateRoutes(states),
    ...stateChangeRoutes(states, threads),
    ...historyRoutes(states),
    ...runRoutes({ service: answers.service, database }),
    ...runStartRoutes(answers),
    ...runJoinRoutes(answers),
    ...statelessRunRoutes(answers),
    ...runByIdRoutes(answers),
  ];
}

/** As for a route that reads it. */
async function admitToAssistant(
  guard: AgentGuard,
  caller: Caller,
  id: string,
  places: Places,
): Promise<void> {
  if (!caller.principal) return;
  const filter = await guard.check(caller, "assistants", "read", { assistant_id: id });
  await requireRow(caller, { kind: "assistant", id }, filter, places);
}
