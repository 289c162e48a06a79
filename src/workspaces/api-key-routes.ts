import { z } from "zod";
import { json, noContent, type Route, route } from "../platform/http/route.ts";
import type { ApiKey } from "./api-key.ts";
import type { ApiKeyService } from "./api-key-service.ts";
import { pageBody, pageOf, pageQuery } from "./page.ts";
import { id, name, role, time } from "./wire.ts";

const apiKey = z.object({
  id,
  name: z.string(),
  prefix: z.string().describe("The part of the key that may be shown."),
  role,
  user_id: id,
  workspace_id: id.nullable().describe("Null: the key opens every workspace of its user."),
  created_at: time,
  last_used_at: time.nullable(),
  expires_at: time.nullable(),
  managed: z.boolean().describe("Made by the platform for itself, which replaces it when it is revoked."),
});
const listQuery = pageQuery.extend({
  include_managed: z.stringbool().default(false).describe("Also the keys the platform made for itself."),
});
const createdApiKey = apiKey.extend({
  key: z.string().describe("Shown this once; only a hash of it is kept."),
});

const createRequest = z.object({
  name,
  role: role.optional().describe("Default: the caller's own role."),
  user_id: id.optional().describe("A member of the workspace; default: the caller."),
  workspace_id: id
    .nullable()
    .optional()
    .describe("Default: the workspace of the request. Null: every workspace of the user."),
  expires_at: z.iso
    .datetime({ offset: true })
    .transform((text) => new Date(text))
    .nullable()
    .optional(),
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
          "Newest first. Admins see every key that opens the workspace, others see their own. Keys the platform made for itself are left out unless asked for.",
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
          "The key is in this answer only. It never has more rights than the caller or than its user.",
        tag,
        access: { kind: "workspace", role: "editor", scope: "admin" },
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
          "It stops working at once, and so do the sessions it started. One of the platform's own (`managed`) is replaced by a new one.",
        tag,
        access: { kind: "workspace", role: "admin", scope: "admin" },
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
    user_id: key.user_id,
    workspace_id: key.workspace_id,
    created_at: key.created_at.toISOString(),
    last_used_at: key.last_used_at?.toISOString() ?? null,
    expires_at: key.expires_at?.toISOString() ?? null,
    managed: key.managed,
  };
}
