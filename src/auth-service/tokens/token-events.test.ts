import { createHmac } from "node:crypto";
import { text } from "node:stream/consumers";
import { afterAll, beforeAll, expect, it } from "vitest";
import { type AuthServiceApp, createAuthServiceApp } from "../../../tests/support/auth-service-app.ts";
import { type HttpListener, startHttpListener } from "../../../tests/support/components/http-listener.ts";
import { waitUntil } from "../../../tests/support/components/wait-until.ts";

type Delivery = { headers: Record<string, unknown>; body: string };
let app: AuthServiceApp;
let receiver: HttpListener;
const deliveries: Delivery[] = [];

beforeAll(async () => {
  app = await createAuthServiceApp({ jobs: true });
  receiver = await startHttpListener(() => (request, response) => {
    text(request).then((body) => {
      deliveries.push({ headers: request.headers, body });
      response.writeHead(204).end();
    }, response.destroy);
  });
  const body = {
    provider_id: "local",
    name: "Local",
    client_id: "id",
    auth_url: "http://127.0.0.1:1/authorize",
    token_url: "http://127.0.0.1:1/token",
  };
  expect((await app.call("POST", "/v2/auth/providers", { body })).status).toBe(200);
});
afterAll(async () => {
  await app?.stop();
  await receiver?.stop();
});

it("token events reach the workspace's webhook, signed, and hold no secret", async () => {
  expect((await app.call("GET", "/v2/auth/webhook")).status).toBe(404);
  const saved = await app.call("PUT", "/v2/auth/webhook", { body: { url: `${receiver.origin}/hook` } });
  expect(saved.status).toBe(200);
  const secret = saved.body.secret as string;
  expect((await app.call("GET", "/v2/auth/webhook")).body).not.toHaveProperty("secret");
  const imported = { provider_id: "local", access_token: "a-value-to-hide", scopes: ["a"] };
  const { body: token } = await app.call("POST", "/v2/auth/tokens/import", { body: imported });
  await waitUntil(() => deliveries.length === 1, { what: "the webhook", timeoutMs: 20_000 });
  const [delivery] = deliveries;
  const sent = JSON.parse(delivery!.body) as { type: string; event: Record<string, unknown> };
  expect(sent).toMatchObject({
    type: "token_event",
    event: { event_type: "imported", token_id: token.token_id },
  });
  expect(delivery!.body).not.toContain("a-value-to-hide");
  const [, seconds, mac] = /^t=(\d+),v1=([0-9a-f]{64})$/.exec(
    String(delivery!.headers["x-treadle-signature"]),
  )!;
  expect(mac).toBe(createHmac("sha256", secret).update(`${seconds}.${delivery!.body}`).digest("hex"));

  const editor = await app.addPerson("editor@example.com");
  expect(
    (await app.call("PUT", "/v2/auth/webhook", { key: editor.key, body: { url: receiver.origin } })).status,
  ).toBe(403);
  expect((await app.call("DELETE", "/v2/auth/webhook")).status).toBe(204);
  expect((await app.call("DELETE", "/v2/auth/webhook")).status).toBe(404);
});

it("events are one's own, newest first, and can be acknowledged", async () => {
  const other = await app.addPerson("other@example.com");
  const { body } = await app.call<{ id: string; created_at: string }[]>(
    "GET",
    "/v2/auth/token-events?provider_id=local",
  );
  expect(body.length).toBeGreaterThan(0);
  expect((await app.call("GET", "/v2/auth/token-events", { key: other.key })).body).toEqual([]);
  const path = `/v2/auth/token-events/${body[0]!.id}/acknowledge`;
  expect((await app.call("POST", path, { key: other.key })).status).toBe(404);
  expect((await app.call("POST", path)).body).toMatchObject({ acknowledged_at: expect.any(String) });
  expect((await app.call("GET", "/v2/auth/token-events?limit=0")).status).toBe(422);
  expect((await app.call("GET", "/v2/auth/token-events?limit=201")).status).toBe(422);
});
