import { z } from "zod";
import { json, type Route, route } from "../../platform/http/route.ts";
import type { Provider } from "./provider.ts";
import {
  mcpDiscoverRequest,
  providerCreateRequest,
  providerUpdateRequest,
  providerView,
  toProviderView,
} from "./provider-schemas.ts";
import type { ProviderService } from "./provider-service.ts";

const tag = "Auth Service (v2)";
const params = z.object({ provider_id: z.string().min(1).max(200) });
const writes = { kind: "workspace", role: "editor", scope: "admin" } as const;
const one = { 200: { description: "The provider", schema: providerView } };

export function providerChangeRoutes(service: ProviderService, publicUrl: () => string): Route[] {
  const view = (provider: Provider) => toProviderView(provider, publicUrl());
  return [
    route(
      {
        method: "post",
        path: "/v2/auth/providers",
        operationId: "create_oauth_provider",
        summary: "Create an OAuth provider",
        tag,
        access: writes,
        audit: {
          action: "oauth_provider.created",
          target: { kind: "oauth_provider", id: "answer.provider_id", name: "body.name" },
        },
        body: providerCreateRequest,
        idempotent: true,
        responses: one,
        errors: [400, 409],
      },
      async ({ caller, body }) => json(200, view(await service.create(caller, body))),
    ),
    route(
      {
        method: "post",
        path: "/v2/auth/providers/mcp-discover",
        operationId: "discover_mcp_provider",
        summary: "Create an OAuth provider from an MCP server's address",
        description:
          "Reads the server's metadata (RFC 9728, RFC 8414) and registers a client there (RFC 7591) that uses PKCE.",
        tag,
        access: writes,
        audit: {
          action: "oauth_provider.created",
          target: { kind: "oauth_provider", id: "answer.provider_id" },
        },
        body: mcpDiscoverRequest,
        idempotent: true,
        responses: one,
        errors: [400, 409, 502],
      },
      async ({ caller, body }) => json(200, view(await service.discoverMcp(caller, body))),
    ),
    route(
      {
        method: "patch",
        path: "/v2/auth/providers/{provider_id}",
        operationId: "update_oauth_provider",
        summary: "Change an OAuth provider",
        description:
          "Fields that are left out or null do not change. A URL on another server needs the client secret again, and is refused (409) while there are tokens.",
        tag,
        access: writes,
        audit: {
          action: "oauth_provider.changed",
          target: { kind: "oauth_provider", id: "params.provider_id" },
        },
        params,
        body: providerUpdateRequest,
        responses: one,
        errors: [400, 404, 409],
      },
      async ({ caller, params, body }) =>
        json(200, view(await service.update(caller, params.provider_id, body))),
    ),
    route(
      {
        method: "delete",
        path: "/v2/auth/providers/{provider_id}",
        operationId: "delete_oauth_provider",
        summary: "Delete an OAuth provider",
        description:
          "It is deleted at once. Its tokens are revoked at the provider in the background, then deleted.",
        tag,
        access: writes,
        audit: {
          action: "oauth_provider.deleted",
          target: { kind: "oauth_provider", id: "params.provider_id" },
        },
        params,
        responses: { 200: { description: "Deleted", schema: z.object({ message: z.string() }) } },
        errors: [404],
      },
      async ({ caller, params }) => {
        await service.remove(caller, params.provider_id);
        return json(200, { message: "The OAuth provider was deleted." });
      },
    ),
  ];
}
