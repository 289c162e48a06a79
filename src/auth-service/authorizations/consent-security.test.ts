import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { z } from "zod";
import {
  type AuthServiceApp,
  createAuthServiceApp,
  giveConsent,
  type Person,
} from "../../../tests/support/auth-service-app.ts";
import {
  callbackUri,
  clientId,
  clientSecret,
  connect,
  finish,
  providerBody,
  startConsent,
} from "../../../tests/support/auth-service-provider.ts";
import { type OAuthServer, startOAuthServer } from "../../../tests/support/components/oauth-server.ts";

let app: AuthServiceApp;
let server: OAuthServer;
let other: Person;
const codes: string[] = [];

beforeAll(async () => {
  app = await createAuthServiceApp();
  server = await startOAuthServer({
    clients: [
      {
        clientId,
        clientSecret,
        redirectUris: ["test", "second", "plain"].map((id) => callbackUri(app.url, id)),
      },
    ],
  });
  other = await app.addPerson("other@example.com");
  for (const more of [{}, { provider_id: "second" }, { provider_id: "plain", uses_pkce: false }]) {
    const created = await app.call("POST", "/v2/auth/providers", { body: providerBody(server, more) });
    expect(created.status).toBe(200);
  }
});
afterAll(async () => {
  await app?.stop();
  await server?.stop();
});

const consent = async (body: Record<string, unknown> = {}) => {
  const pending = await startConsent(app, { force_new: true, ...body });
  const arrived = await giveConsent(pending.url);
  codes.push(arrived.searchParams.get("code") ?? "");
  return { pending, arrived };
};
const has = async (person: Person, provider = "test") =>
  (await app.call("GET", `/v2/auth/tokens/exists?provider_id=${provider}`, { key: person.key })).body
    .has_token;

describe("state", () => {
  it("works once", async () => {
    const { arrived } = await consent();
    expect((await finish(app, arrived)).status).toBe(200);
    const replayed = await finish(app, arrived);
    expect(replayed.status).toBe(400);
    expect(replayed.body.detail).toContain("finished already");
  });

  it("is used up by one of many at once", async () => {
    const { arrived } = await consent();
    const answers = await Promise.all(Array.from({ length: 8 }, () => finish(app, arrived)));
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 400, 400, 400, 400, 400, 400, 400]);
  });

  it("that is wrong in any way gets one and the same answer", async () => {
    const { arrived, pending } = await consent();
    const code = arrived.searchParams.get("code")!;
    const answers = [];
    for (const state of [
      pending.auth_id,
      `${pending.auth_id}.`,
      `${pending.auth_id}.guess`,
      `${crypto.randomUUID()}.guess`,
      "' or 1=1 --",
      `${arrived.searchParams.get("state")}x`,
    ]) {
      answers.push(await app.call("POST", "/v2/auth/callback/test", { body: { code, state } }));
    }
    expect(new Set(answers.map(({ status, body }) => `${status} ${body.detail}`)).size).toBe(1);
    expect(answers[0]?.status).toBe(400);
    expect((await finish(app, arrived)).status).toBe(200);
  });

  it("expires", async () => {
    const { arrived } = await consent();
    app.clock.advance(61 * 60_000);
    expect((await finish(app, arrived)).status).toBe(400);
  });

  it("belongs to one provider: an answer cannot be given to another", async () => {
    const { arrived } = await consent();
    expect((await finish(app, arrived, app.admin, "second")).status).toBe(400);
    expect(await has(app.admin, "second")).toBe(false);
    expect((await finish(app, arrived)).status).toBe(200);
  });
});

describe("the person", () => {
  it("who did not start a consent cannot finish it, nor use it up (403)", async () => {
    const { arrived } = await consent();
    const stolen = await finish(app, arrived, other);
    expect(stolen.status).toBe(403);
    expect(await has(other)).toBe(false);
    expect((await finish(app, arrived)).status).toBe(200);
  });

  it("who is lured to another's consent connects nothing", async () => {
    const lure = await startConsent(app, { force_new: true }, other);
    const arrived = await giveConsent(lure.url);
    expect((await finish(app, arrived, app.admin)).status).toBe(403);
    const answer = await app.call("GET", `/v2/auth/wait/${lure.auth_id}?timeout=0`, { key: other.key });
    expect(answer.body).toEqual({ status: "pending" });
  });

  it("who stole an auth_id learns nothing from it, before and after", async () => {
    const { pending, arrived } = await consent();
    const wait = (person: Person) =>
      app.call("GET", `/v2/auth/wait/${pending.auth_id}?timeout=0`, { key: person.key });
    const unknown = await app.call("GET", `/v2/auth/wait/${crypto.randomUUID()}?timeout=0`, {
      key: other.key,
    });
    expect((await wait(other)).body).toEqual(unknown.body);
    expect((await finish(app, arrived)).status).toBe(200);
    expect((await wait(other)).body).toEqual(unknown.body);
    expect((await wait(app.admin)).body.status).toBe("completed");
  });

  it("who denies gets denied, and so does who waits", async () => {
    const pending = await startConsent(app, { force_new: true });
    const state = new URL(pending.url).searchParams.get("state");
    const answer = await app.call("POST", "/v2/auth/callback/test", {
      body: { state, error: "access_denied" },
    });
    expect(answer).toMatchObject({ status: 400, body: { detail: expect.stringContaining("denied") } });
    const waited = await app.call("GET", `/v2/auth/wait/${pending.auth_id}?timeout=0`);
    expect(waited.body).toMatchObject({ status: "denied" });
    const broken = await startConsent(app, { force_new: true });
    const other = new URL(broken.url).searchParams.get("state");
    await app.call("POST", "/v2/auth/callback/test", { body: { state: other, error: "server_error" } });
    expect((await app.call("GET", `/v2/auth/wait/${broken.auth_id}?timeout=0`)).body.status).toBe("failed");
  });

  it("of another workspace sees neither the consent nor the token", async () => {
    const { tokenId, authId } = await connect(app, { force_new: true });
    const second = await app.call("POST", "/v2/workspaces", { body: { name: "Second" } });
    const tenant = second.body.id as string;
    expect((await app.call("GET", `/v2/auth/wait/${authId}?timeout=0`, { tenant })).body.status).toBe(
      "not_found",
    );
    expect((await app.call("DELETE", `/v2/auth/tokens/${tokenId}`, { tenant })).status).toBe(404);
    expect((await app.call("GET", "/v2/auth/providers/test", { tenant })).status).toBe(404);
    const asked = { provider: "test", scopes: [] };
    expect((await app.call("POST", "/v2/auth/authenticate", { tenant, body: asked })).status).toBe(404);
  });

  it("lends an account to an agent: any editor of the workspace may, and it is linked", async () => {
    const pending = await startConsent(app, { agent_id: "robot", force_new: true });
    expect(pending.url).toBe(`${app.url}/v2/auth/consent/${pending.auth_id}`);
    const consent = await app.call<{ url: string }>(
      "GET",
      `/v2/auth/authorizations/${pending.auth_id}`,
      other,
    );
    const arrived = await giveConsent(consent.body.url);
    const finished = await finish(app, arrived, other);
    expect(finished.status).toBe(200);
    const { data } = (await app.call<{ data: unknown[] }>("GET", "/v2/auth/agents/robot/connections")).body;
    expect(data).toMatchObject([{ oauth_token_id: finished.body.token_id, created_by: other.userId }]);
    const asked = { provider: "test", scopes: [], agent_id: "robot" };
    expect((await app.call("POST", "/v2/auth/authenticate", { body: asked })).body.status).toBe("completed");
  });
});

describe("the exchange", () => {
  it("fails without PKCE where the provider requires it", async () => {
    const pending = await startConsent(app, { provider: "plain" });
    expect(new URL(pending.url).searchParams.has("code_challenge")).toBe(false);
    const arrived = await giveConsent(pending.url);
    expect(arrived.searchParams.get("error")).toBe("invalid_request");
    const finished = await finish(app, arrived);
    expect(finished.status).toBe(400);
    expect(await has(app.admin, "plain")).toBe(false);
  });

  it("fails with the code of another consent: the verifier does not fit", async () => {
    const victim = await consent();
    const attack = await consent();
    const state = attack.arrived.searchParams.get("state")!;
    const code = victim.arrived.searchParams.get("code")!;
    const finished = await app.call("POST", "/v2/auth/callback/test", { body: { code, state } });
    expect(finished.status).toBe(400);
    expect(finished.body.detail).toContain("invalid_grant");
    expect((await finish(app, attack.arrived)).status).toBe(400);
  });

  it("fails when the answer names another issuer than the provider's", async () => {
    const body = providerBody(server, { provider_id: "second", issuer: "http://127.0.0.1:9" });
    await app.call("DELETE", "/v2/auth/providers/second");
    expect((await app.call("POST", "/v2/auth/providers", { body })).status).toBe(200);
    const { arrived } = await consent({ provider: "second" });
    expect(arrived.searchParams.get("iss")).toBe(server.issuer);
    expect((await finish(app, arrived)).status).toBe(502);
  });

  it("sends S256 and a fresh challenge each time", async () => {
    const challenges = new Set<string>();
    for (let i = 0; i < 3; i += 1) {
      const query = new URL((await startConsent(app, { force_new: true })).url).searchParams;
      expect(query.get("code_challenge_method")).toBe("S256");
      challenges.add(query.get("code_challenge")!);
    }
    expect(challenges.size).toBe(3);
  });
});

describe("redirect URIs", () => {
  const asked = (redirect_uri: string) =>
    app.call("POST", "/v2/auth/authenticate", {
      body: { provider: "test", scopes: [], force_new: true, redirect_uri },
    });

  it.each([
    "https://evil.example/",
    "https://allowed.example/callback/",
    "https://allowed.example/callback?next=1",
    "https://allowed.example/callback#x",
    "https://allowed.example.evil.example/callback",
    "javascript:alert(1)",
  ])("%s is refused (422)", async (uri) => {
    await app.call("PATCH", "/v2/auth/providers/test", {
      body: { allowed_redirect_uris: ["https://allowed.example/callback"] },
    });
    expect((await asked(uri)).status).toBe(422);
  });

  it("an allowed one and the server's own paths are taken", async () => {
    for (const uri of [
      "https://allowed.example/callback",
      callbackUri(app.url, "test"),
      `${app.url}/v2/auth/callback/test`,
      `${app.url}/api-host/v2/auth/callback/test`,
    ]) {
      const answer = await asked(uri);
      expect(answer.status).toBe(200);
      expect(new URL(answer.body.url as string).searchParams.get("redirect_uri")).toBe(uri);
    }
  });
});

describe("the callback page", () => {
  const evil = '"><script>alert(1)</script>';

  it.each([
    "/host-oauth-callback/test",
    "/v2/auth/callback/test",
    "/api-host/v2/auth/callback/test",
    "/v2/auth/setup/test",
  ])("%s is the same for every input, redirects nowhere and binds nothing", async (path) => {
    const { arrived } = await consent();
    const plain = await app.fetch(new Request(`${app.url}${path}`));
    const query = new URLSearchParams({
      ...Object.fromEntries(arrived.searchParams),
      error: evil,
      error_description: evil,
      redirect_uri: "https://evil.example",
    });
    const answer = await app.fetch(new Request(`${app.url}${path}?${query}`, { redirect: "manual" }));
    expect(answer.status).toBe(200);
    expect(await answer.text()).toBe(await plain.text());
    expect(answer.headers.get("location")).toBeNull();
    const policy = answer.headers.get("content-security-policy") ?? "";
    expect(policy).toContain("script-src 'self'");
    expect(policy).not.toContain("unsafe");
    expect(answer.headers.get("cache-control")).toBe("no-store");
    expect(answer.headers.get("referrer-policy")).toBe("no-referrer");
    expect((await finish(app, arrived)).status).toBe(200);
  });

  it("says the same for a provider that does not exist, whatever its name", async () => {
    const known = await (await app.fetch(new Request(`${app.url}/host-oauth-callback/test`))).text();
    const path = `/host-oauth-callback/${encodeURIComponent(evil)}`;
    expect(await (await app.fetch(new Request(`${app.url}${path}`))).text()).toBe(known);
  });

  it("holds no inline script or handler", async () => {
    const page = await (await app.fetch(new Request(`${app.url}/host-oauth-callback/test`))).text();
    expect(page.match(/<script/g)).toHaveLength(1);
    expect(page).toMatch(/<script src="\.\/assets\/callback\.js" defer><\/script>/);
    expect(page).not.toMatch(/\son[a-z]+=|style=/);
  });
});

it("nothing secret is in the logs, in errors or in addresses", async () => {
  const { tokenId } = await connect(app, { force_new: true });
  const read = await app.call("POST", "/v2/auth/authenticate", {
    body: { provider: "test", scopes: [], token_id: tokenId },
  });
  const token = z.object({ token: z.string() }).parse(read.body).token;
  const imported = { access_token: "imported-access-value", refresh_token: "imported-refresh-value" };
  await app.call("POST", "/v2/auth/tokens/import", {
    body: { provider_id: "test", ...imported, expires_in_seconds: 1, is_default: true },
  });
  app.clock.advance(10_000);
  const failed = await app.call("POST", "/v2/auth/authenticate", { body: { provider: "test", scopes: [] } });
  const refused = await app.call("POST", "/v2/auth/tokens/import", {
    body: { provider_id: "test", access_token: 7, refresh_token: "imported-refresh-value" },
  });
  expect(refused.status).toBe(422);
  const written = app.logs() + JSON.stringify(failed.body) + JSON.stringify(refused.body);
  expect(app.logs()).toContain("/v2/auth/callback/{provider_id}");
  const secrets = [token, clientSecret, app.admin.key, other.key, ...Object.values(imported), ...codes];
  for (const secret of secrets.filter(Boolean)) expect(written.includes(secret)).toBe(false);
});
