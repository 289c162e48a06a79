import { z } from "zod";
import { json, type Route, route } from "../../platform/http/route.ts";
import type { ConnectionService } from "./connection-service.ts";
import { agentIdSchema, connectionView, toConnectionView, tokenImportFields } from "./token-schemas.ts";

const tag = "Auth Service (v2)";
const agent = z.object({ agent_id: agentIdSchema });

export function agentTokenRoutes(service: ConnectionService): Route[] {
  return [
    route(
      {
        method: "post",
        path: "/v2/auth/agents/{agent_id}/providers/{provider_id}/tokens",
        operationId: "import_agent_token",
        summary: "Import an OAuth token for an agent",
        description:
          "Replaces the agent's earlier connection to the provider. The earlier token is deleted if it was the agent's own and no other agent uses it.",
        tag,
        access: { kind: "workspace", role: "editor", scope: "accounts" },
        audit: {
          action: "oauth_token.imported",
          target: { kind: "oauth_token", id: "answer.token_id" },
          details: { provider: "params.provider_id", agent_id: "params.agent_id" },
        },
        params: agent.extend({ provider_id: z.string().min(1).max(200) }),
        body: z.object(tokenImportFields),
        idempotent: true,
        responses: {
          200: {
            description: "Stored and connected",
            schema: z.object({ token_id: z.guid(), connection: connectionView }),
          },
        },
        errors: [404],
      },
      async ({ caller, params, body }) => {
        const request = { ...body, provider_id: params.provider_id };
        const connection = await service.importFor(caller, params.agent_id, request);
        return json(200, {
          token_id: connection.oauth_token_id,
          connection: toConnectionView(connection),
        });
      },
    ),
  ];
}
