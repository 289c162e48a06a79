import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type AuthServiceApp, createAuthServiceApp, introspect } from "../support/auth-service-app.ts";
import { callbackUri, clientId, clientSecret, connect, providerBody, startConsent, finish } from "../support/auth-service-provider.ts";
import { giveConsent } from "../support/auth-service-app.ts";
import { type OAuthServer, startOAuthServer } from "../support/components/oauth-server.ts";

let app: AuthServiceApp;
let server: OAuthServer;

beforeAll(async () => {
  app = await createAuthServiceApp({ jobs: true });
  server = await startOAuthServer({
    clients: [
      {
        clientId,
        clientSecret,
        redirectUris: [callbackUri(app.url, "test"), callbackUri(app.url, "other")],
      },
    ],
    scopes: ["calendar.read", "calendar.write"],
  });
  expect((await app.call("POST", "/v2/auth/providers", { body: providerBody(server) })).status).toBe(200);
});
afterAll(async () => {
  await app?.stop();
  await server?.stop();
});

describe("a first connection", () => {
  it("goes from a consent URL to a token the provider calls active", async () => {
    const pending = await startConsent(app, { scopes: ["openid", "calendar.read"] });
    const waiting = app.call("GET", `/v2/auth/wait/${pending.auth_id}?timeout=30`);
    const arrived = await giveConsent(pending.url);
    expect(arrived.origin + arrived.pathname).toBe(callbackUri(app.url, "test"));
    expect((await finish(app, arrived)).status).toBe(200);
    const { body } = await waiting;
    expect(body).toMatchObject({ status: "completed", token: expect.any(String) });
    expect(await introspect(server, body.token as string)).toMatchObject({ active: true, sub: "ada" });
    const again = await app.call("POST", "/v2/auth/authenticate", {
      body: { provider: "test", scopes: ["calendar.read"] },
    });
    expect(again.body).toMatchObject({ status: "completed", token: body.token });
    expect(JSON.stringify(again.body)).not.toContain("refresh");
  });
});
