import { createAuthServiceApp } from "../../tests/support/auth-service-app.ts";
import {
  describeSecurity,
  type ForeignResource,
  openSignInRoutes,
} from "../../tests/support/security-suite.ts";

/** The provider sends people back without a credential; these serve a page and its parts, and do nothing else. */
const openRoutes = [
  ...["/host-oauth-callback", "/v2/auth/callback", "/v2/auth/setup"].flatMap((path) => [
    `GET ${path}/{provider_id}`,
    `GET ${path}/assets/callback.js`,
    `GET ${path}/assets/callback.css`,
  ]),
  "GET /v2/auth/consent/{auth_id}",
  "GET /v2/auth/consent/assets/consent.js",
  "GET /v2/auth/consent/assets/consent.css",
];

for (const agentRoutes of ["open on loopback", "closed"] as const) {
  describeSecurity(`the auth service with agent routes ${agentRoutes}`, {
    openRoutes: [...openRoutes, ...openSignInRoutes],
    agentRoutes,
    start: async () => {
      const app = await createAuthServiceApp({ agentAuthRequired: agentRoutes === "closed" });
      const provider = {
        provider_id: "foreign",
        name: "Foreign",
        client_id: "id",
        auth_url: "http://127.0.0.1:1/authorize",
        token_url: "http://127.0.0.1:1/token",
      };
      return {
        fetch: app.fetch,
        routes: app.routes,
        admin: { workspaceId: app.workspaceId, apiKey: app.admin.key },
        createForeignResources: async (second): Promise<ForeignResource[]> => {
          const as = { key: second.admin, tenant: second.workspaceId };
          await app.call("POST", "/v2/auth/providers", { ...as, body: provider });
          const imported = await app.call("POST", "/v2/auth/tokens/import", {
            ...as,
            body: { provider_id: "foreign", access_token: "x" },
          });
          const token_id = imported.body.token_id as string;
          const linked = await app.call("POST", "/v2/auth/agents/theirs/connections", {
            ...as,
            body: { oauth_token_id: token_id },
          });
          const connection_id = linked.body.id as string;
          const events = await app.call<{ id: string }[]>("GET", "/v2/auth/token-events", as);
          return [
            { under: "/v2/auth/providers/{provider_id}", params: { provider_id: "foreign" } },
            { under: "/v2/auth/tokens/{token_id}", params: { token_id } },
            {
              under: "/v2/auth/agents/{agent_id}/connections/{connection_id}",
              params: { agent_id: "theirs", connection_id },
            },
            { under: "/v2/auth/token-events/{event_id}", params: { event_id: events.body[0]!.id } },
          ];
        },
        stop: app.stop,
      };
    },
  });
}
