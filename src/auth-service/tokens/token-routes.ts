import { z } from "zod";
import { json, noContent, type Route, route } from "../../platform/http/route.ts";
import type { TokenRemoval } from "./token-removal-service.ts";
import { tokenImportFields, tokenSummary, toTokenSummary } from "./token-schemas.ts";
import type { TokenService } from "./token-service.ts";

const tag = "Auth Service (v2)";
const reads = { kind: "workspace", role: "viewer", scope: "accounts" } as const;
const writes = { kind: "workspace", role: "editor", scope: "accounts" } as const;
const providerId = z.string().min(1).max(200);
const force = z
  .enum(["true", "false", "1", "0"])
  .default("false")
  .transform((text) => text === "true" || text === "1")
  .describe("Delete here also when the provider does not revoke it.");
const params = z.object({ token_id: z.guid() });
const hasToken = z.object({ has_token: z.boolean() });

export function tokenRoutes(service: TokenService, removal: TokenRemoval): Route[] {
  return [
    route(
      {
        method: "get",
        path: "/v2/auth/tokens",
        operationId: "list_oauth_tokens",
        summary: "List the caller's OAuth tokens",
        description: "Newest first, without any secret.",
        tag,
        access: reads,
        query: z.object({ provider_id: providerId.optional() }),
        responses: { 200: { description: "The tokens", schema: z.array(tokenSummary) } },
      },
      async ({ caller, query }) =>
        json(200, (await service.list(caller, query.provider_id)).map(toTokenSummary)),
    ),
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
          "Revokes the token at the provider first, then deletes it. Only the owner may. When the provider refuses or cannot be reached the answer is 502 and the token stays, unless `force` is true.",
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
        method: "patch",
        path: "/v2/auth/tokens/{token_id}/metadata",
        operationId: "update_oauth_token_metadata",
        summary: "Name an OAuth token, or make it the default account",
        tag,
        access: writes,
        audit: { action: "oauth_token.changed", target: { kind: "oauth_token", id: "params.token_id" } },
        params,
        body: z.object({
          provider_account_label: z.string().trim().min(1).max(320).nullish(),
          is_default: z.boolean().nullish(),
        }),
        responses: { 200: { description: "The token", schema: tokenSummary } },
        errors: [404],
      },
      async ({ caller, params, body }) => {
        const change = { label: body.provider_account_label, isDefault: body.is_default ?? undefined };
        return json(200, toTokenSummary(await service.changeMetadata(caller, params.token_id, change)));
      },
    ),
    route(
      {
        method: "get",
        path: "/v2/auth/tokens/exists",
        operationId: "oauth_token_exists",
        summary: "Whether the caller has a token of a provider",
        tag,
        access: reads,
        query: z.object({ provider_id: providerId }),
        responses: { 200: { description: "Whether there is one", schema: hasToken } },
      },
      async ({ caller, query }) => {
        const connected = await service.connected(caller, [query.provider_id]);
        return json(200, { has_token: connected.has(query.provider_id) });
      },
    ),
    route(
      {
        method: "post",
        path: "/v2/auth/tokens/exists/batch",
        operationId: "oauth_tokens_exist",
        summary: "Whether the caller has tokens of several providers",
        tag,
        access: reads,
        body: z.object({ provider_ids: z.array(providerId).max(500) }),
        responses: {
          200: {
            description: "By provider id",
            schema: z.object({ has_token: z.record(z.string(), z.boolean()) }),
          },
        },
      },
      async ({ caller, body }) => {
        const connected = await service.connected(caller, body.provider_ids);
        const entries = body.provider_ids.map((id) => [id, connected.has(id)] as const);
        return json(200, { has_token: Object.fromEntries(entries) });
      },
    ),
    route(
      {
        method: "post",
        path: "/v2/auth/tokens/import",
        operationId: "import_oauth_token",
        summary: "Import an OAuth token obtained elsewhere",
        description: "Stored encrypted; its value is never returned by this endpoint and never logged.",
        tag,
        access: writes,
        audit: {
          action: "oauth_token.imported",
          target: { kind: "oauth_token", id: "answer.token_id" },
          details: { provider: "body.provider_id" },
        },
        body: z.object({ provider_id: providerId, ...tokenImportFields }),
        idempotent: true,
        responses: { 200: { description: "Stored", schema: z.object({ token_id: z.guid() }) } },
        errors: [404],
      },
      async ({ caller, body }) => json(200, { token_id: await service.import(caller, body) }),
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
