import { z } from "zod";
import { json, noContent, type Route, route } from "../../platform/http/route.ts";
import type { ConnectionService } from "./connection-service.ts";
import { agentIdSchema, connectionView, toConnectionView } from "./token-schemas.ts";

const tag = "Auth Service (v2)";
const agent = z.object({ agent_id: agentIdSchema });

export function connectionRoutes(service: ConnectionService): Route[] {
  return [
    route(
      {
        method: "get",
        path: "/v2/auth/agents/{agent_id}/connections",
        operationId: "list_agent_connections",
        summary: "List the tokens an agent may use",
        tag,
        access: { kind: "workspace", role: "viewer", scope: "accounts" },
        params: agent,
        responses: {
          200: { description: "The connections", schema: z.object({ data: z.array(connectionView) }) },
        },
      },
      async ({ caller, params }) => {
        const connections = await service.list(caller, params.agent_id);
        return json(200, { data: connections.map(toConnectionView) });
      },
    ),
    route(
      {
        method: "post",
        path: "/v2/auth/agents/{agent_id}/connections",
        operationId: "create_agent_connection",
        summary: "Let an agent use one of the caller's tokens",
        tag,
        access: { kind: "workspace", role: "editor", scope: "accounts" },
        audit: {
          action: "oauth_connection.created",
          target: { kind: "oauth_token", id: "body.oauth_token_id" },
          details: { agent_id: "params.agent_id" },
        },
        params: agent,
        body: z.object({ oauth_token_id: z.guid() }),
        idempotent: true,
        responses: { 201: { description: "The connection", schema: connectionView } },
        errors: [404],
      },
      async ({ caller, params, body }) => {
        const connection = await service.link(caller, params.agent_id, body.oauth_token_id);
        return json(201, toConnectionView(connection));
      },
    ),
    route(
      {
        method: "delete",
        path: "/v2/auth/agents/{agent_id}/connections/{connection_id}",
        operationId: "delete_agent_connection",
        summary: "Unlink a token from an agent",
        description: "The token itself stays with its owner.",
        tag,
        access: { kind: "workspace", role: "editor", scope: "accounts" },
        audit: {
          action: "oauth_connection.deleted",
          target: { kind: "oauth_connection", id: "params.connection_id" },
          details: { agent_id: "params.agent_id" },
        },
        params: agent.extend({ connection_id: z.guid() }),
        responses: { 204: { description: "Unlinked" } },
        errors: [404],
      },
      async ({ caller, params }) => {
        await service.unlink(caller, params.agent_id, params.connection_id);
        return noContent();
      },
    ),
  ];
}
