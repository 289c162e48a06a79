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
import { waitUntil } from "../support/components/wait-until.ts";

let app: AuthServiceApp;
let server: OAuthServer;
const hourMs = 3_600_000;

beforeAll(async () => {
  app = await createAuthServiceApp({ jobs: true });
  server = await startOAuthServer({
    clients: [
      { clientId, clientSecret, redirectUris: ["test", "far"].map((id) => callbackUri(app.url, id)) },
    ],
    scopes: ["calendar.read", "calendar.write"],
  });
  expect((await app.call("POST", "/v2/auth/providers", { body: providerBody(server) })).status).toBe(200);
});
beforeEach(async () => {
  server.setTokenFault(undefined);
  await app.call("DELETE", "/v2/auth/tokens?provider_id=test");
});
afterAll(async () => {
  await app?.stop();
  await server?.stop();
});

type Event = { event_type: string; reason: string | null; source: string };
const authenticate = (body: Record<string, unknown> = {}) =>
  app.call<{ status: string; token: string }>("POST", "/v2/auth/authenticate", {
    body: { provider: "test", scopes: [], ...body },
  });
const read = async (body: Record<string, unknown> = {}) => (await authenticate(body)).body.token;
const events = async () => (await app.call<Event[]>("GET", "/v2/auth/token-events")).body;
const inactive = (token: string, what: string) =>
  waitUntil(async () => (await introspect(server, token)).active === false, { what, timeoutMs: 20_000 });

describe("a consent for more scopes", () => {
  it("ends the earlier access token at the provider; the new one lives and can be refreshed", async () => {
    await connect(app, { scopes: ["openid", "calendar.read"] });
    const earlier = await read();
    const more = await startConsent(app, { scopes: ["calendar.write"] });
    expect((await finish(app, await giveConsent(more.url))).status).toBe(200);
    const later = await read({ scopes: ["calendar.read", "calendar.write"] });
    await inactive(earlier, "the earlier token to end");
    expect(await introspect(server, later)).toMatchObject({ active: true });
    app.clock.advance(hourMs);
    expect(await introspect(server, await read())).toMatchObject({ active: true });
    // Written down after the provider has answered.
    await waitUntil(async () => (await events()).some((event) => event.event_type === "earlier_revoked"), {
      what: "the event of the earlier token",
      timeoutMs: 20_000,
    });
  });
});

describe("the default account is dead", () => {
  it("asks for that account again, and never hands out another one", async () => {
    const scopes = ["calendar.read"];
    const { tokenId } = await connect(app, { scopes });
    const other = await startConsent(app, { scopes, force_new: true, is_default: false });
    const { body } = await finish(app, await giveConsent(other.url));
    expect(body.token_id).not.toBe(tokenId);
    server.setTokenFault({
      status: 400,
      body: '{"error":"invalid_grant"}',
      headers: { "content-type": "application/json" },
    });
    app.clock.advance(hourMs);
    expect((await authenticate({ scopes })).body.status).toBe("pending");
    server.setTokenFault(undefined);
    expect((await authenticate({ scopes, check_only: true })).body.status).toBe("token_expired");
    const again = await startConsent(app, { scopes });
    expect((await finish(app, await giveConsent(again.url))).body.token_id).toBe(tokenId);
    expect((await authenticate({ scopes, token_id: body.token_id })).body.status).toBe("completed");
  });
});

describe("a provider that does not answer", () => {
  it("forced: the token is gone at once, and revoked when the provider is back", {
    timeout: 60_000,
  }, async () => {
    const proxy = await startTcpProxy({ target: server.issuer });
    const far = providerBody(server, {
      provider_id: "far",
      token_url: proxy.urlFor(server.tokenEndpoint),
      revocation_url: proxy.urlFor(server.revocationEndpoint),
    });
    expect((await app.call("POST", "/v2/auth/providers", { body: far })).status).toBe(200);
    const { tokenId } = await connect(app, { provider: "far" });
    const token = await read({ provider: "far" });
    await proxy.refuse();
    expect((await app.call("DELETE", `/v2/auth/tokens/${tokenId}?force=true`)).status).toBe(204);
    expect((await events())[0]).toMatchObject({ event_type: "deleted_locally", reason: "forced" });
    expect((await authenticate({ provider: "far", check_only: true })).body.status).toBe(
      "connection_required",
    );
    await proxy.restore();
    // Tried again after a pause by the clock. The first attempt may only now be failing, so its pause may begin later
    // than this line: the clock advances until it is over.
    await waitUntil(
      async () => {
        app.clock.advance(10 * 60_000);
        return (await events())[0]?.event_type === "revoked";
      },
      { what: "the deleted token to be revoked", timeoutMs: 20_000 },
    );
    expect((await events())[0]).toMatchObject({ event_type: "revoked", source: "owner" });
    expect(await introspect(server, token)).toMatchObject({ active: false });
    await proxy.stop();
  });
});
