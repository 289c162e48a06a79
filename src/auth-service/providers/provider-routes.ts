import { z } from "zod";
import { json, type Route, route } from "../../platform/http/route.ts";
import type { Provider } from "./provider.ts";
import { providerView, templateView, toProviderView, toTemplateView } from "./provider-schemas.ts";
import type { ProviderService } from "./provider-service.ts";
import { providerTemplates } from "./provider-templates.ts";

const tag = "Auth Service (v2)";
const params = z.object({ provider_id: z.string().min(1).max(200) });
const reads = { kind: "workspace", role: "viewer", scope: ["read", "accounts"] } as const;
const one = { 200: { description: "The provider", schema: providerView } };
const many = { 200: { description: "The providers", schema: z.array(providerView) } };

export function providerRoutes(service: ProviderService, publicUrl: () => string): Route[] {
  const view = (provider: Provider) => toProviderView(provider, publicUrl());
  return [
    route(
      {
        method: "get",
        path: "/v2/auth/platform-providers",
        operationId: "list_platform_providers",
        summary: "List platform OAuth providers",
        description: "The providers available to all workspaces. Fields that are not set are null.",
        tag,
        access: reads,
        responses: many,
      },
      async () => json(200, (await service.listPlatform()).map(view)),
    ),
    route(
      {
        method: "get",
        path: "/v2/auth/platform-providers/{provider_id}",
        operationId: "get_platform_provider",
        summary: "Get a platform OAuth provider",
        tag,
        access: reads,
        params,
        responses: one,
        errors: [404],
      },
      async ({ params }) => json(200, view(await service.getPlatform(params.provider_id))),
    ),
    route(
      {
        method: "get",
        path: "/v2/auth/provider-templates",
        operationId: "list_provider_templates",
        summary: "List templates for well-known providers",
        description:
          "Send one as `template` when you create a provider: then a client id and a secret are enough.",
        tag,
        access: reads,
        responses: { 200: { description: "The templates", schema: z.array(templateView) } },
      },
      () =>
        json(
          200,
          providerTemplates.map((template) => toTemplateView(template, publicUrl())),
        ),
    ),
    route(
      {
        method: "get",
        path: "/v2/auth/providers",
        operationId: "list_oauth_providers",
        summary: "List the workspace's OAuth providers",
        tag,
        access: reads,
        responses: many,
      },
      async ({ caller }) => json(200, (await service.list(caller)).map(view)),
    ),
    route(
      {
        method: "get",
        path: "/v2/auth/providers/{provider_id}",
        operationId: "get_oauth_provider",
        summary: "Get an OAuth provider",
        tag,
        access: reads,
        params,
        responses: one,
        errors: [404],
      },
      async ({ caller, params }) => json(200, view(await service.get(caller, params.provider_id))),
    ),
  ];
}
