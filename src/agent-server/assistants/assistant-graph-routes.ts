import { z } from "zod";
import { json } from "../../platform/http/route.ts";
import { type AgentRoute, agentRoute } from "../auth/agent-route.ts";
import { asks, assistantInPath } from "../auth/route-rules.ts";
import { assistantParams, flag } from "./assistant-params.ts";
import { graphDrawing, graphSchemas, subgraphSchemas } from "./assistant-schemas.ts";
import type { AssistantService } from "./assistant-service.ts";

const viewer = { kind: "agent", role: "viewer", scope: ["read", "runs"] } as const;
const tag = "Assistants";
const xray = z
  .union([z.enum(["true", "false"]).transform((text) => text === "true"), z.coerce.number().int().min(0)])
  .describe("Also open the subgraphs: all of them, or that many levels.");
const subgraphsQuery = z.object({ recurse: flag.optional() });
const subgraphs = { description: "Schemas by namespace.", schema: subgraphSchemas };

/** What is behind an assistant: its graph, the graph's schemas and its subgraphs. */
export function assistantGraphRoutes(assistants: AssistantService): AgentRoute[] {
  return [
    agentRoute(
      {
        method: "get",
        path: "/assistants/{assistant_id}/graph",
        operationId: "getAssistantGraph",
        summary: "Nodes and edges of an assistant's graph",
        tag,
        access: viewer,
        guard: asks("assistants", "read", assistantInPath),
        params: assistantParams,
        query: z.object({ xray: xray.default(false) }),
        responses: { 200: { description: "The drawing.", schema: graphDrawing } },
        errors: [404],
      },
      async ({ caller, params, query }) =>
        json(200, await assistants.draw(caller.workspaceId, params.assistant_id, query.xray)),
    ),
    agentRoute(
      {
        method: "get",
        path: "/assistants/{assistant_id}/schemas",
        operationId: "getAssistantSchemas",
        summary: "JSON Schemas of an assistant's input, output, state and configuration",
        tag,
        access: viewer,
        guard: asks("assistants", "read", assistantInPath),
        params: assistantParams,
        responses: { 200: { description: "The schemas.", schema: graphSchemas } },
        errors: [404],
      },
      async ({ caller, params }) =>
        json(200, await assistants.schemas(caller.workspaceId, params.assistant_id)),
    ),
    agentRoute(
      {
        method: "get",
        path: "/assistants/{assistant_id}/subgraphs",
        operationId: "listAssistantSubgraphs",
        summary: "Schemas of an assistant's subgraphs",
        tag,
        access: viewer,
        guard: asks("assistants", "read", assistantInPath),
        params: assistantParams,
        query: subgraphsQuery,
        responses: { 200: subgraphs },
        errors: [404],
      },
      async ({ caller, params, query }) =>
        json(200, await assistants.subgraphs(caller.workspaceId, params.assistant_id, query)),
    ),
    agentRoute(
      {
        method: "get",
        path: "/assistants/{assistant_id}/subgraphs/{namespace}",
        operationId: "getAssistantSubgraph",
        summary: "Schemas of the subgraphs in one namespace",
        tag,
        access: viewer,
        guard: asks("assistants", "read", assistantInPath),
        params: assistantParams.extend({ namespace: z.string().min(1) }),
        query: subgraphsQuery,
        responses: { 200: subgraphs },
        errors: [404],
      },
      async ({ caller, params, query }) => {
        const { namespace } = params;
        return json(
          200,
          await assistants.subgraphs(caller.workspaceId, params.assistant_id, { ...query, namespace }),
        );
      },
    ),
  ];
}
