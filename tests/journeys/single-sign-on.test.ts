import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { raw } from "../../src/platform/db/raw.ts";
import type { OidcConfig } from "../../src/workspaces/sign-in/oidc-config.ts";
import { createTestApp, type TestApp } from "../support/app.ts";
import { freePort } from "../support/components/free-port.ts";
import { type OAuthServer, startOAuthServer } from "../support/components/oauth-server.ts";
import { waitUntil } from "../support/components/wait-until.ts";
import { createRedirectClient } from "../support/redirect-client.ts";
import { createTestClock, type TestClock } from "../support/workspaces-app.ts";

/** Sign-in with a real OpenID Connect provider, over HTTP as a browser does it. */
let provider: OAuthServer;
let app: TestApp;
let url: string;
let oidc: OidcConfig;
let clock: TestClock;
const callback = (place: string) => `${place}/v2/auth/oidc/callback`;

async function startApp(changes: Partial<OidcConfig> = {}) {
  const port = await freePort();
  url = `http://127.0.0.1:${port}`;
  provider = await startOAuthServer({
    clients: [{ clientId: "treadle", clientSecret: "a secret of the client", redirectUris: [callback(url)] }],
    accounts: [
      {
        username: "ada",
        password: "irrelevant",
        claims: {
          name: "Ada Lovelace",
          email: "ada@example.com",
          email_verified: true,
          groups: ["everybody", "weavers"],
        },
      },
    ],
  });
  oidc = {
    issuer: provider.issuer,
    clientId: "treadle",
    clientSecret: "a secret of the client",
    name: "Mill",
    scopes: "openid email profile",
    groupsClaim: "groups",
    roles: [
      { group: "weavers", role: "editor" },
      { group: "masters", role: "admin" },
    ],
    workspaceId: undefined,
    trustEmail: false,
    required: false,
    ...changes,
  };
  clock = createTestClock();
  const limits = { idleMs: 3_600_000, lifetimeMs: 86_400_000 };
  app = await createTestApp({ port, signIn: { sessions: limits, oidc } }, { clock });
  await app.listen();
}

beforeAll(() => startApp());
afterAll(async () => {
  await app?.stop();
  await provider?.stop();
});

const ada = () => provider.accounts[0]!.claims!;
beforeEach(() => {
  Object.assign(ada(), {
    name: "Ada Lovelace",
    email: "ada@example.com",
    email_verified: true,
    groups: ["everybody", "weavers"],
  });
  provider.removeAccess("ada");
  provider.setTokenFault(undefined);
});

async function signIn(returnTo = "/deployments") {
  const browser = createRedirectClient();
  const start = `${url}/v2/auth/oidc/start?return_to=${encodeURIComponent(returnTo)}`;
  const visited = await browser.follow(start, (next) => next.startsWith(url) && !next.includes("/v2/auth/"));
  const end = new URL(visited.at(-1)!);
  return {
    browser,
    visited,
    end: end.pathname + end.search,
    problem: end.searchParams.get("problem"),
    cookie: browser.jarOf(url).get("treadle_session"),
  };
}

async function whoIs(cookie: string | undefined) {
  const response = await fetch(`${url}/v2/auth/sessions/current`, {
    headers: { cookie: `treadle_session=${cookie}`, "sec-fetch-site": "same-origin" },
  });
  return { status: response.status, body: (await response.json()) as { user: { id: string }; role: string } };
}

describe("somebody of the provider", () => {
  it("becomes a member with the role of the groups, and comes back as the same one", async () => {
    const first = await signIn();
    expect(first.end).toBe("/deployments");
    const { body } = await whoIs(first.cookie);
    expect(body).toMatchObject({
      user: { email: "ada@example.com", name: "Ada Lovelace" },
      role: "editor",
      workspace_id: app.workspaceId,
      session: { method: "oidc", api_key_id: null },
    });
    // Other name, other address: the subject is who one is.
    Object.assign(ada(), { email: "ada@elsewhere.example" });
    const second = await signIn();
    expect((await whoIs(second.cookie)).body.user.id).toBe(body.user.id);
  });

  it("has the role of the groups of the last sign-in, in every session", async () => {
    const first = await signIn();
    ada().groups = ["masters", "weavers"];
    const second = await signIn();
    for (const { cookie } of [first, second]) expect((await whoIs(cookie)).body.role).toBe("admin");
    ada().groups = ["weavers"];
    await signIn();
    expect((await whoIs(first.cookie)).body.role).toBe("editor");
  });

  it("loses access with the group: membership, sessions and keys", async () => {
    const before = await signIn();
    const { body } = await whoIs(before.cookie);
    const made = await app.call<{ key: string }>("POST", "/v2/api-keys", {
      body: { name: "ada's", role: "editor", user_id: body.user.id },
    });
    ada().groups = ["everybody"];
    const refused = await signIn();
    expect(refused.problem).toBe("no_role");
    expect(refused.cookie).toBeUndefined();
    expect((await whoIs(before.cookie)).status).toBe(401);
    const withKey = await app.call("GET", "/v2/workspaces", { headers: { "x-api-key": made.body.key } });
    expect(withKey.status).toBe(401);
    expect((await app.call("GET", `/v2/members/${body.user.id}`)).status).toBe(404);
    // An administrator may still add them by hand; that is not the groups' to take away.
    await app.call("POST", "/v2/members", { body: { email: "ada@example.com", role: "viewer" } });
    const byHand = await signIn();
    expect((await whoIs(byHand.cookie)).body.role).toBe("viewer");
    await signIn();
    expect((await whoIs(byHand.cookie)).body.role).toBe("viewer");
  });
});

describe("the audit log", () => {
  type Page = { resources: { id: string; outcome: string }[] };
  const latest = async (outcome: "done" | "refused") => {
    const path = `/v2/audit-events?action=session.signed_in&outcome=${outcome}&limit=1`;
    return (await app.call<Page>("GET", path)).body.resources[0];
  };

  it("names who has signed in by the provider, and why somebody was not let in", async () => {
    const { cookie } = await signIn();
    const { body } = await whoIs(cookie);
    expect(await latest("done")).toMatchObject({
      workspace_id: app.workspaceId,
      actor: { kind: "person", user_id: body.user.id, api_key_id: null },
      details: { method: "oidc" },
      address: "127.0.0.1",
    });
    const before = await latest("refused");
    provider.setTokenFault({ status: 503, body: "down" });
    await signIn();
    // Nobody waits for the row of a refusal.
    await waitUntil(async () => (await latest("refused"))?.id !== before?.id, {
      what: "the refusal's row",
      timeoutMs: 20_000,
    });
    expect(await latest("refused")).toMatchObject({
      error_code: "sign_in.provider_unreachable",
      workspace_id: null,
      actor: { kind: "anonymous" },
    });
  });
});

describe("the last administrator", () => {
  const roleNow = async (userId: string) =>
    (await app.call<{ role: string }>("GET", `/v2/members/${userId}`)).body.role;

  it("keeps the role until there is another, whatever the groups say", async () => {
    ada().groups = ["masters"];
    const { body } = await whoIs((await signIn()).cookie);
    const userId = body.user.id;
    // The others go: what remains is a person whom the provider has made an administrator.
    await raw`update memberships set role = 'editor' where user_id <> ${userId}`.execute(app.database.sql);
    ada().groups = ["weavers"];
    const still = await signIn();
    expect((await whoIs(still.cookie)).body.role).toBe("admin");
    ada().groups = [];
    expect((await signIn()).problem).toBe("no_role");
    const { rows } = await raw<{ role: string }>`
      select role from memberships where user_id = ${userId}`.execute(app.database.sql);
    expect(rows).toEqual([{ role: "admin" }]);

    await raw`update memberships set role = 'admin' where user_id <> ${userId}`.execute(app.database.sql);
    ada().groups = ["weavers"];
    await signIn();
    expect(await roleNow(userId)).toBe("editor");
  });
});

describe("whose account it is", () => {
  it("is never decided by an address that is not verified, nor for the first administrator", async () => {
    provider.accounts.push({
      username: "mallory",
      password: "irrelevant",
      claims: { email: "grace@example.com", email_verified: false, groups: ["masters"] },
    });
    const [mallory] = provider.accounts.splice(-1);
    const member = await app.call<{ user_id: string }>("POST", "/v2/members", {
      body: { email: "grace@example.com", role: "admin" },
    });
    expect(member.status).toBe(201);
    const stopped = await startSecond([mallory!]);
    try {
      expect((await stopped.signIn()).problem).toBe("email_unverified");
      mallory!.claims!.email_verified = undefined;
      expect((await stopped.signIn()).problem).toBe("email_unverified");
      Object.assign(mallory!.claims!, { email: "admin@localhost", email_verified: true });
      expect((await stopped.signIn()).problem).toBe("identity_taken");
      Object.assign(mallory!.claims!, { email: undefined });
      expect((await stopped.signIn()).problem).toBe("email_missing");
      // Vouched for: then it is that member.
      Object.assign(mallory!.claims!, { email: "grace@example.com", email_verified: true });
      const linked = await stopped.signIn();
      expect(linked.problem).toBeNull();
    } finally {
      await stopped.stop();
    }
  });

  /** Another server on a provider of its own. */
  async function startSecond(accounts: OAuthServer["accounts"]) {
    const kept = { provider, app, url, oidc, clock };
    await startApp();
    const [own] = provider.accounts.splice(0);
    expect(own).toBeDefined();
    // The provider signs in its first account: the account in question takes its name.
    provider.accounts.push({ ...accounts[0]!, username: "ada" });
    accounts[0]!.claims = provider.accounts[0]!.claims!;
    await app.call("POST", "/v2/members", { body: { email: "grace@example.com", role: "admin" } });
    const second = { provider, app };
    return {
      signIn: () => signIn(),
      async stop() {
        await second.app.stop();
        await second.provider.stop();
        ({ provider, app, url, oidc, clock } = kept);
      },
    };
  }
});

describe("attacks", () => {
  it("an answer of the provider counts only in the browser that asked for it, and once", async () => {
    const attacker = createRedirectClient();
    const start = `${url}/v2/auth/oidc/start`;
    const visited = await attacker.follow(start, (next) => next.startsWith(callback(url)));
    const answer = visited.at(-1)!;
    // A victim is lured to it: would be signed in as the attacker.
    const victim = createRedirectClient();
    const lured = await victim.get(answer);
    expect(new URL(lured.next!).searchParams.get("problem")).toBe("expired");
    expect(victim.jarOf(url).get("treadle_session")).toBeUndefined();
    // Also with a sign-in of the victim's own under way.
    await victim.get(start);
    const mixed = await victim.get(answer);
    expect(new URL(mixed.next!).searchParams.get("problem")).toBe("provider_refused");
    expect(victim.jarOf(url).get("treadle_session")).toBeUndefined();
    const { next } = await attacker.get(answer);
    expect(new URL(next!).pathname).toBe("/");
    const replayed = await attacker.get(answer);
    expect(new URL(replayed.next!).searchParams.get("problem")).toBe("expired");
  });

  it.each(["https://evil.example/", "//evil.example", "/\\evil.example", "/d/hostile/page", "javascript:1"])(
    "return_to %s leads to the start page",
    async (returnTo) => {
      expect((await signIn(returnTo)).end).toBe("/");
    },
  );

  it("asks with PKCE, state and nonce, and for no more than what is configured", async () => {
    const { visited } = await signIn();
    const { searchParams } = new URL(visited[1]!);
    expect(Object.fromEntries(searchParams)).toMatchObject({
      response_type: "code",
      client_id: "treadle",
      redirect_uri: callback(url),
      scope: "openid email profile",
      code_challenge_method: "S256",
      code_challenge: expect.stringMatching(/^[\w-]{43}$/),
      state: expect.stringMatching(/^[\w-]{43}$/),
      nonce: expect.stringMatching(/^[\w-]{43}$/),
    });
  });

  it("a sign-in that took longer than ten minutes is begun again", async () => {
    const browser = createRedirectClient();
    const visited = await browser.follow(`${url}/v2/auth/oidc/start`, (next) =>
      next.startsWith(callback(url)),
    );
    clock.advance(11 * 60_000);
    const { next } = await browser.get(visited.at(-1)!);
    expect(new URL(next!).searchParams.get("problem")).toBe("expired");
    clock.advance(-11 * 60_000);
  });
});

describe("a provider in trouble", () => {
  it("that fails, refuses or disagrees about the time: each is told apart", async () => {
    provider.setTokenFault({ status: 503, body: "down" });
    expect((await signIn()).problem).toBe("provider_unreachable");
    provider.setTokenFault({
      status: 400,
      body: JSON.stringify({ error: "invalid_grant" }),
      headers: { "content-type": "application/json" },
    });
    expect((await signIn()).problem).toBe("provider_refused");
    provider.setTokenFault(undefined);
    clock.advance(2 * 3_600_000);
    expect((await signIn()).problem).toBe("clock");
    clock.advance(-2 * 3_600_000);
    expect((await signIn()).problem).toBeNull();
  });

  it("that is away at first is asked again by the next sign-in", async () => {
    const port = await freePort();
    const dead = `http://127.0.0.1:${await freePort()}`;
    const lonely = await createTestApp({
      port,
      signIn: {
        sessions: { idleMs: 3_600_000, lifetimeMs: 86_400_000 },
        oidc: { ...oidc, issuer: dead },
      },
    });
    try {
      const place = await lonely.listen();
      const { next } = await createRedirectClient().get(`${place}/v2/auth/oidc/start`);
      expect(new URL(next!).searchParams.get("problem")).toBe("provider_unreachable");
    } finally {
      await lonely.stop();
    }
  });
});

describe("TREADLE_OIDC_REQUIRED", () => {
  it("keys do not sign in to the console, and still work for programs", async () => {
    const strict = await createTestApp({
      signIn: {
        sessions: { idleMs: 3_600_000, lifetimeMs: 86_400_000 },
        oidc: { ...oidc, required: true },
      },
    });
    try {
      const ways = await strict.call("GET", "/v2/auth/sign-in");
      expect(ways.body).toEqual({ key: false, oidc: { name: "Mill", start: "/v2/auth/oidc/start" } });
      const refused = await strict.call("POST", "/v2/auth/sign-in/key", {
        body: { api_key: strict.apiKey },
        headers: { origin: "http://127.0.0.1", "x-treadle-console": "1" },
      });
      expect(refused.status).toBe(403);
      expect(refused.headers.get("set-cookie")).toBeNull();
      expect((await strict.call("GET", "/v2/workspaces")).status).toBe(200);
    } finally {
      await strict.stop();
    }
  });
});
