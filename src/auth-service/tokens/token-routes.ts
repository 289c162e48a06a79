import { z } from "zod";
import { json, type Route, route } from "../../platform/http/route.ts";
import { tokenImportFields, tokenSummary, toTokenSummary } from "./token-schemas.ts";
import type { TokenService } from "./token-service.ts";

const tag = "Auth Service (v2)";
const reads = { kind: "workspace", role: "viewer", scope: "accounts" } as const;
const writes = { kind: "workspace", role: "editor", scope: "accounts" } as const;
const providerId = z.string().min(1).max(200);
const params = z.object({ token_id: z.guid() });
const hasToken = z.object({ has_token: z.boolean() });

export function tokenRoutes(service: TokenService): Route[] {
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
  ];
}
