import type { Logger } from "../../platform/logger.ts";
import type { AgentRoute } from "../auth/agent-route.ts";
import { createSchemaCatalog, type TypeSchemas } from "../graphs/schema-catalog.ts";
import { assistantChangeRoutes } from "./assistant-change-routes.ts";
import { assistantGraphRoutes } from "./assistant-graph-routes.ts";
import { assistantRoutes } from "./assistant-routes.ts";
import { AssistantService, type AssistantServiceOptions } from "./assistant-service.ts";
import { assistantVersionRoutes } from "./assistant-version-routes.ts";

export type AssistantsOptions = Omit<AssistantServiceOptions, "schemas"> & {
  logger: Logger;
  /** Better schemas from a project's types. */
  typeSchemas?: TypeSchemas | undefined;
};

export type Assistants = {
  service: AssistantService;
  routes: AgentRoute[];
  /** Reads the schemas of the running graphs, so that no request has to wait for them. Never rejects. */
  warm(): Promise<void>;
};

export function createAssistants({ logger, typeSchemas, ...options }: AssistantsOptions): Assistants {
  const { database, graphs } = options;
  const schemas = createSchemaCatalog({
    graphs: new Map(graphs.ids.map((id) => [id, graphs.get(id)])),
    ...(typeSchemas ? { typeSchemas } : {}),
    onProblem: (graphId, error) =>
      logger.warn({ graphId, err: error }, "the schemas of a graph could not be read"),
  });
  const service = new AssistantService({ ...options, schemas });
  return {
    service,
    routes: [
      ...assistantRoutes({ database, assistants: service }),
      ...assistantChangeRoutes(service),
      ...assistantVersionRoutes(service),
      ...assistantGraphRoutes(service),
    ],
    warm: () => schemas.warm(),
  };
}
