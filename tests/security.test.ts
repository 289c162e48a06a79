import { createTestApp } from "./support/app.ts";
import { describeSecurity } from "./support/security-suite.ts";

/** Every route that answers without a credential. Adding one here is a decision, not an accident. */
const openRoutes = [
  "GET /",
  "GET /ok",
  "GET /info",
  "GET /api/v1/info",
  "GET /chat",
  "GET /chat/assets/{file}",
  // Where an OAuth provider sends the browser back to: pages that show nothing and bind nothing by themselves.
  ...["/host-oauth-callback", "/v2/auth/callback", "/v2/auth/setup"].flatMap((place) => [
    `GET ${place}/{provider_id}`,
    `GET ${place}/assets/callback.js`,
    `GET ${place}/assets/callback.css`,
  ]),
];

for (const agentRoutes of ["open on loopback", "closed"] as const) {
  describeSecurity(`the platform with agent routes ${agentRoutes}`, {
    openRoutes,
    agentRoutes,
    start: async () => {
      const test = await createTestApp({ agentAuthRequired: agentRoutes === "closed" });
      return {
        fetch: async (request: Request) => test.app.fetch(request),
        routes: test.app.routes,
        admin: { workspaceId: test.workspaceId, apiKey: test.apiKey },
        stop: test.stop,
      };
    },
  });
}
