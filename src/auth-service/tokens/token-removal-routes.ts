import { z } from "zod";
import { json, noContent, type Route, route } from "../../platform/http/route.ts";
import type { TokenRemoval } from "./token-removal-service.ts";

const tag = "Auth Service (v2)";
const reads = { kind: "workspace", role: "viewer", scope: "accounts" } as const;
const writes = { kind: "workspace", role: "editor", scope: "accounts" } as const;
const providerId = z.string().min(1).max(200);
const force = z
  .enum(["true", "false", "1", "0"])
  .default("false")
  .transform((text) => text === "true" || text === "1")
  .describe("Delete it here even if the provider does not revoke it.");
const params = z.object({ token_id: z.guid() });
const hasToken = z.object({ has_token: z.boolean() });

export function tokenRemovalRoutes(removal: TokenRemoval): Route[] {
  return [
    route(
      {
        method: "delete",
        path: "/v2/auth/tokens",
        operationId: "delete_provider_tokens",
        summary: "Delete all of the caller's OAuth tokens of a provider",
        description:
          "Each is revoked at the provider first. One that is not revoked stays, and so do those after it.",
        tag,
        access: writes,
        audit: { action: "oauth_token.deleted", target: { kind: "oauth_provider", id: "query.provider_id" } },
        query: z.object({ provider_id: providerId, force }),
        responses: {
          200: {
            description: "Deleted",
            schema: z.object({ message: z.string(), provider_id: z.string() }),
          },
        },
        errors: [502],
      },
      async ({ caller, query }) => {
        const count = await removal.removeAll(caller, query.provider_id, query.force);
        const message = count === 1 ? "1 token was deleted." : `${count} tokens were deleted.`;
        return json(200, { message, provider_id: query.provider_id });
      },
    ),
    route(
      {
        method: "delete",
        path: "/v2/auth/tokens/{token_id}",
        operationId: "delete_oauth_token",
        summary: "Delete an OAuth token",
        description:
          "Revokes the token at the provider first, then deletes it. Only the owner may. If the provider refuses or cannot be reached, the response is 502 and the token stays, unless `force` is true.",
        tag,
        access: writes,
        audit: { action: "oauth_token.deleted", target: { kind: "oauth_token", id: "params.token_id" } },
        params,
        query: z.object({ force }),
        responses: { 204: { description: "Deleted" } },
        errors: [404, 502],
      },
      async ({ caller, params, query }) => {
        await removal.remove(caller, params.token_id, query.force);
        return noContent();
      },
    ),
    route(
      {
        method: "get",
        path: "/v2/auth/tokens/workspace/slack/exists",
        operationId: "workspace_slack_token_exists",
        summary: "Whether anybody in the workspace has connected Slack",
        tag,
        access: reads,
        responses: { 200: { description: "Whether there is one", schema: hasToken } },
      },
      async ({ caller }) => json(200, { has_token: await removal.hasOfType(caller, "slack") }),
    ),
    route(
      {
        method: "delete",
        path: "/v2/auth/tokens/workspace/slack",
        operationId: "delete_workspace_slack_tokens",
        summary: "Delete the workspace's Slack tokens",
        tag,
        access: { kind: "workspace", role: "admin", scope: "admin" },
        audit: { action: "oauth_token.deleted", target: { kind: "oauth_provider" } },
        responses: { 200: { description: "Deleted", schema: z.object({ message: z.string() }) } },
        errors: [502],
      },
      async ({ caller }) => {
        const count = await removal.removeOfType(caller, "slack");
        return json(200, { message: count === 1 ? "1 token was deleted." : `${count} tokens were deleted.` });
      },
    ),
  ];
}
