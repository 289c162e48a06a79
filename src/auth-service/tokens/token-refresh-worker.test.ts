import { text } from "node:stream/consumers";
import { afterAll, beforeAll, expect, it } from "vitest";
import { type AuthServiceApp, createAuthServiceApp } from "../../../tests/support/auth-service-app.ts";
import { type HttpListener, startHttpListener } from "../../../tests/support/components/http-listener.ts";

let app: AuthServiceApp;
let provider: HttpListener;
const asked = { good: [] as string[], broken: 0 };

beforeAll(async () => {
  app = await createAuthServiceApp();
  provider = await startHttpListener(() => (request, response) => {
    text(request).then((body) => {
      if (request.url === "/broken") {
        asked.broken += 1;
        response.writeHead(503).end();
        return;
      }
      const token = new URLSearchParams(body).get("refresh_token")!;
      asked.good.push(token);
      const fresh = {
        access_token: `a-${token}`,
        token_type: "bearer",
        expires_in: 3600,
        refresh_token: `${token}+`,
      };
      response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(fresh));
    }, response.destroy);
  });
  for (const id of ["good", "broken"]) {
    const body = {
      provider_id: id,
      name: id,
      client_id: "id",
      auth_url: `${provider.origin}/authorize`,
      token_url: `${provider.origin}/${id}`,
    };
    expect((await app.call("POST", "/v2/auth/providers", { body })).status).toBe(200);
  }
});
afterAll(async () => {
  await app?.stop();
  await provider?.stop();
});

const importMany = async (provider_id: string, count: number) => {
  for (let i = 0; i < count; i += 1) {
    const body = {
      provider_id,
      access_token: "x",
      refresh_token: `${provider_id}-${i}`,
      expires_in_seconds: 3600,
    };
    expect((await app.call("POST", "/v2/auth/tokens/import", { body })).status).toBe(200);
  }
};

it("several processes refresh each due token once", async () => {
  await importMany("good", 40);
  app.clock.advance(3_600_000);
  const processes = await Promise.all([app.another(), app.another()]);
  const signal = AbortSignal.timeout(25_000);
  await Promise.all([app.service, ...processes].map((each) => each.refreshDueTokens(signal)));
  expect(asked.good.sort()).toEqual(Array.from({ length: 40 }, (_, i) => `good-${i}`).sort());
});

it("a broken provider is given up for the round, and the others are not held up by it", async () => {
  await importMany("broken", 60);
  app.clock.advance(3_600_000);
  await app.service.refreshDueTokens(AbortSignal.timeout(25_000));
  expect(asked.good).toHaveLength(80);
  expect(asked.broken).toBeGreaterThan(0);
  expect(asked.broken).toBeLessThan(60);
  const { body } = await app.call<{ event_type: string }[]>(
    "GET",
    "/v2/auth/token-events?provider_id=broken&limit=200",
  );
  const failed = body.filter((event) => event.event_type === "refresh_failed");
  expect(failed).toHaveLength(asked.broken);
});
