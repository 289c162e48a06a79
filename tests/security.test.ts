import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { createTestApp, type TestApp } from "./support/app.ts";
import { rolesThatDiffer } from "./support/security-roles.ts";
import { scopesThatDiffer } from "./support/security-scopes.ts";
import { describeSecurity, openSignInRoutes } from "./support/security-suite.ts";
import { describeTenants } from "./support/security-tenants.ts";

// Each of them asks every route.
vi.setConfig({ testTimeout: 120_000 });

/** Every route that answers without a credential. Adding one here is a decision, not an accident. */
const openRoutes = [
  // The console's page and files hold no data; every path of its address bar answers with the same page.
  "GET /",
  "GET /sign-in",
  "GET /open/{slug}",
  ...[
    "deployments",
    "agents",
    "traces",
    "datasets",
    "queues",
    "alerts",
    "exports",
    "connections",
    "settings",
  ].map((page) => `GET /${page}/{rest*}`),
  "GET /o/{tenant_id}/projects/{rest*}",
  "GET /o/{tenant_id}/datasets/{rest*}",
  "GET /console/assets/{file}",
  "GET /ok",
  "GET /health",
  "GET /ready",
  "GET /info",
  "GET /api/v1/info",
  // A feedback link proves itself by its id, which is random and ends.
  "POST /api/v1/feedback/tokens/{token}",
  "GET /api/v1/feedback/tokens/{token}",
  // What is shared is read by its token.
  ...["run", "run/{run_id}", "runs", "{asked}", "datasets", "datasets/sessions", "examples"].map(
    (what) => `GET /api/v1/public/{share_token}/${what}`,
  ),
  "POST /api/v1/public/{share_token}/runs/query",
  "POST /api/v2/public/{share_token}/runs/query",
  "GET /api/v2/public/{share_token}/run/{run_id}",
  "GET /v2/chat/shared/{share_token}",
  "GET /public/{share_token}/r",
  "GET /public/{share_token}/d",
  "GET /chat",
  "GET /chat/assets/{file}",
  "GET /chat/example",
  // The gateway asks each deployment's own rule; an upload and a webhook prove themselves by their signature.
  ...["GET", "POST", "PUT", "PATCH", "DELETE"].map((method) => `${method} /d/{slug}/{rest*}`),
  "PUT /v2/uploads/{deployment_id}/{file}",
  // A proxy asks it before it gets a certificate for a host; a caller of the host gets the same answer.
  "GET /v2/domains/ask",
  // A sealed link names one attachment and ends by itself: clients of tracing fetch it without their key.
  "GET /api/v1/attachments/{token}",
  "POST /v1/integrations/github/{integration_id}/webhook",
  "GET /o/{tenant_id}/host/deployments/{deployment_id}",
  ...openSignInRoutes,
  // Pages of consents, before and behind the OAuth provider: they show nothing and bind nothing by themselves.
  "GET /v2/auth/consent/{auth_id}",
  "GET /v2/auth/consent/assets/consent.js",
  "GET /v2/auth/consent/assets/consent.css",
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

describeTenants(() => createTestApp({ agentAuthRequired: true }));

let app: TestApp;
beforeAll(async () => {
  app = await createTestApp();
});
afterAll(() => app?.stop());

test("every route asks for the role that the lists name", () => {
  expect(rolesThatDiffer(app.app.routes)).toEqual([]);
});

test("a viewer's command that changes something is refused", async () => {
  const { body: key } = await app.call<{ key: string }>("POST", "/v2/api-keys", {
    body: { name: "viewer", role: "viewer" },
  });
  const thread = await app.call<{ thread_id: string }>("POST", "/threads", { body: {} });
  for (const method of ["run.start", "input.respond", "input.inject", "state.fork"]) {
    const { body } = await app.call("POST", `/threads/${thread.body.thread_id}/commands`, {
      body: { id: 1, method, params: { assistant_id: "echo", input: {} } },
      headers: { "x-api-key": key.key },
    });
    expect([method, body]).toEqual([
      method,
      expect.objectContaining({ type: "error", error: "permission_denied" }),
    ]);
  }
});

test("every route asks for the scope of its area", () => {
  expect(scopesThatDiffer(app.app.routes)).toEqual([]);
});
