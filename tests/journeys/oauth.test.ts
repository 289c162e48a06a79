import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import {
  type AuthServiceApp,
  createAuthServiceApp,
  giveConsent,
  introspect,
} from "../support/auth-service-app.ts";
import {
  callbackUri,
  clientId,
  clientSecret,
  connect,
  finish,
  providerBody,
  startConsent,
} from "../support/auth-service-provider.ts";
import { type OAuthServer, startOAuthServer } from "../support/components/oauth-server.ts";
import { startTcpProxy } from "../support/components/tcp-proxy.ts";

let app: AuthServiceApp;
let server: OAuthServer;
const hourMs = 3_600_000;

beforeAll(async () => {
  app = await createAuthServiceApp();
  server = await startOAuthServer({
    clients: [
      { clientId, clientSecret, redirectUris: ["test", "down"].map((id) => callbackUri(app.url, id)) },
    ],
    scopes: ["calendar.read", "calendar.write"],
  });
  expect((await app.call("POST", "/v2/auth/providers", { body: providerBody(server) })).status).toBe(200);
});
beforeEach(async () => {
  server.setTokenFault(undefined);
  await app.call("DELETE", "/v2/auth/tokens?provider_id=test&force=true");
});
afterAll(async () => {
  await app?.stop();
  await server?.stop();
});

const authenticate = (body: Record<string, unknown> = {}) =>
  app.call("POST", "/v2/auth/authenticate", { body: { provider: "test", scopes: [], ...body } });
const read = async (body: Record<string, unknown> = {}) => (await authenticate(body)).body.token as string;
const events = async () =>
  (await app.call<Record<string, unknown>[]>("GET", "/v2/auth/token-events?provider_id=test")).body;

describe("connecting an account", () => {
  it("goes from a consent URL to a token the provider calls active", async () => {
    const pending = await startConsent(app, { scopes: ["openid", "calendar.read"] });
    const waiting = app.call("GET", `/v2/auth/wait/${pending.auth_id}?timeout=30`);
    const arrived = await giveConsent(pending.url);
    expect(arrived.origin + arrived.pathname).toBe(callbackUri(app.url, "test"));
    expect((await finish(app, arrived)).status).toBe(200);
    const { body } = await waiting;
    expect(body).toMatchObject({ status: "completed", token: expect.any(String) });
    expect(await introspect(server, body.token as string)).toMatchObject({ active: true, sub: "ada" });
    const again = await authenticate({ scopes: ["calendar.read"] });
    expect(again.body).toMatchObject({ status: "completed", token: body.token });
    expect(JSON.stringify(again.body)).not.toContain("refresh");
    const [summary] = (await app.call<Record<string, unknown>[]>("GET", "/v2/auth/tokens?provider_id=test"))
      .body;
    expect(summary).toMatchObject({ provider_id: "test", provider_account_label: "ada", is_default: true });
    expect(JSON.stringify(summary)).not.toContain(body.token);
  });

  it("asks again for scopes it does not have, keeps those it has, and stays one token", async () => {
    const first = await connect(app, { scopes: ["openid", "calendar.read"] });
    const pending = await startConsent(app, { scopes: ["calendar.write"] });
    const asked = new URL(pending.url).searchParams.get("scope")!.split(" ").sort();
    expect(asked).toEqual(["calendar.read", "calendar.write", "openid"]);
    const finished = await finish(app, await giveConsent(pending.url));
    expect(finished.body.token_id).toBe(first.tokenId);
    expect((await authenticate({ scopes: ["calendar.read", "calendar.write"] })).body.status).toBe(
      "completed",
    );
  });

  it("keeps end users, agents and accounts apart", async () => {
    await connect(app, { user_id: "customer-1" });
    expect((await authenticate({ user_id: "customer-1" })).body.status).toBe("completed");
    for (const other of [{}, { user_id: "customer-2" }]) {
      expect((await authenticate({ ...other, check_only: true })).body).toEqual({
        status: "connection_required",
      });
    }
    await connect(app, { agent_id: "agent-1", user_id: "customer-3" });
    expect((await authenticate({ agent_id: "agent-1", user_id: "customer-3" })).body.status).toBe(
      "completed",
    );
    const otherAgent = { agent_id: "agent-2", user_id: "customer-3", check_only: true };
    expect((await authenticate(otherAgent)).body).toEqual({ status: "connection_required" });
  });
});

describe("refreshing", () => {
  it("happens before the end, rotates, and uses the refresh token once", async () => {
    await connect(app);
    const first = await read();
    const before = server.tokenRequests();
    app.clock.advance(hourMs - 30_000);
    const second = await read();
    expect(second).not.toBe(first);
    expect(server.tokenRequests()).toBe(before + 1);
    app.clock.advance(hourMs);
    const third = await read();
    expect(await introspect(server, third)).toMatchObject({ active: true });
    expect(server.tokenRequests()).toBe(before + 2);
  });

  it("ten processes at once make one refresh", async () => {
    await connect(app);
    const stale = await read();
    const processes = await Promise.all(Array.from({ length: 10 }, () => app.another()));
    const before = server.tokenRequests();
    app.clock.advance(hourMs);
    const caller = {
      organizationId: app.organizationId,
      workspaceId: app.workspaceId,
      userId: app.admin.userId,
      role: "admin" as const,
      via: "api_key" as const,
      scopes: null,
      mayUseAccounts: true,
    };
    const request = { provider: "test", scopes: [] };
    const answers = await Promise.all(
      processes.flatMap((each) => [each.authenticate(caller, request), each.authenticate(caller, request)]),
    );
    const tokens = new Set(
      answers.map((answer) => (answer.status === "completed" ? answer.token : answer.status)),
    );
    expect([...tokens]).toHaveLength(1);
    expect(tokens.has(stale)).toBe(false);
    expect(server.tokenRequests()).toBe(before + 1);
    await Promise.all(processes.map((each) => each.close()));
  });

  it("a process that died while refreshing holds nobody up for longer than its lease", async () => {
    await connect(app);
    const first = await read();
    app.clock.advance(hourMs);
    await app.database.query(
      {
        name: "dead_holder_v1",
        text: `update auth_tokens set lease_token = gen_random_uuid(), lease_expires_at = now() + interval '1 second'`,
      },
      [],
    );
    const second = await read();
    expect(second).not.toBe(first);
    expect(await introspect(server, second)).toMatchObject({ active: true });
  });

  it("the background job renews what is about to end, and only that", async () => {
    await connect(app);
    const first = await read();
    const before = server.tokenRequests();
    expect(await app.service.refreshDueTokens(AbortSignal.timeout(20_000))).toBe(0);
    app.clock.advance(hourMs - 4 * 60_000);
    expect(await app.service.refreshDueTokens(AbortSignal.timeout(20_000))).toBe(1);
    expect(server.tokenRequests()).toBe(before + 1);
    expect(await read()).not.toBe(first);
    expect(server.tokenRequests()).toBe(before + 1);
  });

  it("a grant the provider has ended is dead: an event says so and a new consent revives it", async () => {
    const { tokenId } = await connect(app);
    server.removeAccess("ada");
    app.clock.advance(hourMs);
    expect((await authenticate({ check_only: true })).body).toEqual({ status: "token_expired" });
    expect((await events())[0]).toMatchObject({ event_type: "disconnected", reason: "invalid_grant" });
    expect((await app.call("GET", "/v2/auth/tokens/exists?provider_id=test")).body).toEqual({
      has_token: false,
    });
    const named = await authenticate({ token_id: tokenId });
    expect(named.body).toMatchObject({ status: "token_expired", url: expect.any(String) });
    expect((await connect(app)).tokenId).toBe(tokenId);
    expect((await events())[0]).toMatchObject({ event_type: "reconnected" });
    expect(await introspect(server, await read())).toMatchObject({ active: true });
  });

  it.each([
    [
      "an error page",
      { status: 200, body: "<html>Maintenance</html>", headers: { "content-type": "text/html" } },
    ],
    ["garbage", { status: 200, body: "\u0000\u0001{{{", headers: { "content-type": "application/json" } }],
    [
      "a token that is no text",
      { status: 200, body: '{"access_token":7}', headers: { "content-type": "application/json" } },
    ],
    ["overload", { status: 503, body: "busy" }],
    [
      "a wrong client",
      { status: 401, body: '{"error":"invalid_client"}', headers: { "content-type": "application/json" } },
    ],
  ])("%s keeps the token and answers 502 only once it has ended", async (_name, fault) => {
    await connect(app);
    const first = await read();
    server.setTokenFault(fault);
    app.clock.advance(hourMs - 30_000);
    expect(await read()).toBe(first);
    app.clock.advance(60_000);
    const failed = await authenticate();
    expect(failed.status).toBe(502);
    expect(failed.body.detail).toEqual(expect.any(String));
    expect((await events())[0]).toMatchObject({ event_type: "refresh_failed" });
    server.setTokenFault(undefined);
    expect(await introspect(server, await read())).toMatchObject({ active: true });
  });
});

describe("deleting", () => {
  it("revokes at the provider first: access and refresh token are inactive there", async () => {
    const { tokenId } = await connect(app);
    const token = await read();
    const deleted = await app.call("DELETE", `/v2/auth/tokens/${tokenId}`);
    expect(deleted.status).toBe(204);
    expect(deleted.body).toBeUndefined();
    expect(await introspect(server, token)).toEqual({ active: false });
    expect((await events())[0]).toMatchObject({ event_type: "revoked", source: "owner" });
    expect((await app.call("DELETE", `/v2/auth/tokens/${tokenId}`)).status).toBe(404);
  });

  it("counts a token the provider does not know any more as revoked", async () => {
    const { tokenId } = await connect(app);
    server.removeAccess("ada");
    expect((await app.call("DELETE", `/v2/auth/tokens/${tokenId}`)).status).toBe(204);
  });
});

describe("a provider that cannot be reached", () => {
  it("down: 502 and the token stays, unless forced; slow: given up after 15 seconds", async () => {
    const proxy = await startTcpProxy({ target: server.issuer });
    const body = providerBody(server, {
      provider_id: "down",
      token_url: proxy.urlFor(server.tokenEndpoint),
      revocation_url: proxy.urlFor(server.revocationEndpoint),
    });
    expect((await app.call("POST", "/v2/auth/providers", { body })).status).toBe(200);
    const { tokenId } = await connect(app, { provider: "down" });
    await proxy.refuse();
    const refused = await app.call("DELETE", `/v2/auth/tokens/${tokenId}`);
    expect(refused.status).toBe(502);
    expect(refused.body.detail).toContain("force=true");
    expect((await authenticate({ provider: "down" })).body.status).toBe("completed");
    await proxy.restore();
    proxy.blackHole();
    app.clock.advance(2 * hourMs);
    const late = await authenticate({ provider: "down" });
    expect(late.status).toBe(502);
    // What was held back must not arrive later: a refresh token works once.
    proxy.cut();
    await proxy.restore();
    expect((await authenticate({ provider: "down" })).body.status).toBe("completed");
    await proxy.refuse();
    expect((await app.call("DELETE", `/v2/auth/tokens/${tokenId}?force=true`)).status).toBe(204);
    const [event] = (await app.call<Record<string, unknown>[]>("GET", "/v2/auth/token-events")).body;
    expect(event).toMatchObject({ event_type: "deleted_locally", reason: "forced" });
    await proxy.stop();
  }, 60_000);
});
