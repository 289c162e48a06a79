import { z } from "zod";
import { scopes as allScopes } from "../../platform/http/access/scope.ts";
import { json, noContent, type Route, route } from "../../platform/http/route.ts";
import type { ApiKey } from "../identity/api-key.ts";
import { id, name, role, time } from "../wire/fields.ts";
import { pageBody, pageOf, pageQuery } from "../wire/page.ts";
import type { ApiKeyService } from "./api-key-service.ts";

const scope = z.enum(allScopes);

const apiKey = z
  .object({
    id,
    name: z.string(),
    prefix: z.string().describe("The part of the key that may be shown."),
    role,
    scopes: z
      .array(scope)
      .nullable()
      .describe("What the key is limited to. Null: everything its role allows."),
    tracing_project: z
      .string()
      .nullable()
      .describe("The name of the one tracing project it may write to; it can do nothing else."),
    service: z
      .boolean()
      .describe("Belongs to the workspace and to no person: it has no accounts and cannot create keys."),
    user_id: id.nullable().describe("Null for a service key."),
    created_by: id
      .nullable()
      .describe(
        "The user who created it; null: unknown, or the platform. A key can use its user's accounts only if that user created it.",
      ),
    workspace_id: id.nullable().describe("Null: the key opens every workspace of its user."),
    created_at: time,
    last_used_at: time.nullable(),
    expires_at: time.nullable(),
    managed: z
      .boolean()
      .describe("Created by the platform for itself; if it is revoked, the platform replaces it."),
  })
  .meta({ id: "ApiKey" });
const listQuery = pageQuery.extend({
  include_managed: z
    .stringbool()
    .default(false)
    .describe("Include keys that the platform created for itself."),
});
const createdApiKey = apiKey
  .extend({
    key: z.string().describe("Shown only once; only its hash is stored."),
  })
  .meta({ id: "CreatedApiKey" });

const createRequest = z.object({
  name,
  role: role
    .optional()
    .describe("Default: editor, or the role its scopes need; never more than the caller and the user have."),
  user_id: id.optional().describe("A member of the workspace; default: the caller."),
  workspace_id: id
    .nullable()
    .optional()
    .describe("Default: the workspace of the request. Null: every workspace of the user."),
  service: z
    .boolean()
    .optional()
    .describe(
      "A key that belongs to the workspace, for CI and other machines: it has no person and no accounts, and cannot create keys. Admins only; needs `scopes`.",
    ),
  scopes: z
    .array(scope)
    .min(1)
    .transform((list) => [...new Set(list)])
    .nullable()
    .optional()
    .describe("What the key is limited to. Default: everything its role allows."),
  tracing_project: z
    .string()
    .min(1)
    .max(1_000)
    .nullable()
    .optional()
    .describe(
      "The name of the one tracing project it may write to; only with the scope `traces:write` alone.",
    ),
  expires_at: z.iso
    .datetime({ offset: true })
    .transform((text) => new Date(text))
    .nullable()
    .optional()
    .describe("Default: in 90 days. Null: never."),
  expires_in_days: z
    .number()
    .positive()
    .max(36_500)
    .nullable()
    .optional()
    .describe("Instead of `expires_at`. Null: never."),
});

const tag = "API keys";
const params = z.object({ key_id: id });

export function apiKeyRoutes(service: ApiKeyService): Route[] {
  return [
    route(
      {
        method: "get",
        path: "/v2/api-keys",
        operationId: "list_api_keys",
        summary: "List API keys",
        description:
          "Newest first. Admins see every key that opens the workspace, others see their own. Keys that the platform created for itself are left out, unless `include_managed` is true.",
        tag,
        access: { kind: "workspace", role: "viewer", scope: "read" },
        query: listQuery,
        responses: { 200: { description: "A page of keys", schema: pageOf(apiKey) } },
      },
      async ({ caller, query }) =>
        json(200, pageBody((await service.list(caller, query)).map(toWire), query)),
    ),
    route(
      {
        method: "post",
        path: "/v2/api-keys",
        operationId: "create_api_key",
        summary: "Create an API key",
        description:
          "The key is only in this response. It never has more rights than the caller or its user. A key that an admin creates for somebody else cannot use that person's accounts.",
        tag,
        access: { kind: "workspace", role: "editor", scope: "admin" },
        audit: {
          action: "api_key.created",
          target: { kind: "api_key", id: "answer.id", name: "body.name" },
          details: {
            role: "answer.role",
            scopes: "answer.scopes",
            expires_at: "answer.expires_at",
            for_user_id: "answer.user_id",
          },
        },
        body: createRequest,
        idempotent: true,
        responses: { 201: { description: "The key, shown once", schema: createdApiKey } },
      },
      async ({ caller, body }) => {
        const created = await service.create(caller, body);
        return json(201, { ...toWire(created), key: created.key });
      },
    ),
    route(
      {
        method: "delete",
        path: "/v2/api-keys/{key_id}",
        operationId: "delete_api_key",
        summary: "Revoke an API key",
        description:
          "It stops working at once, and so do the sessions it started. A key of the platform (`managed`) is replaced by a new one.",
        tag,
        access: { kind: "workspace", role: "admin", scope: "admin" },
        audit: { action: "api_key.revoked", target: { kind: "api_key", id: "params.key_id" } },
        params,
        responses: { 204: { description: "Revoked" } },
        errors: [404, 409],
      },
      async ({ caller, params }) => {
        await service.revoke(caller, params.key_id);
        return noContent();
      },
    ),
  ];
}

function toWire(key: ApiKey): z.input<typeof apiKey> {
  return {
    id: key.id,
    name: key.name,
    prefix: key.prefix,
    role: key.role,
    scopes: key.scopes,
    tracing_project: key.tracing_project,
    service: key.user_id === null,
    created_by: key.created_by,
    user_id: key.user_id,
    workspace_id: key.workspace_id,
    created_at: key.created_at.toISOString(),
    last_used_at: key.last_used_at?.toISOString() ?? null,
    expires_at: key.expires_at?.toISOString() ?? null,
    managed: key.managed,
  };
}
