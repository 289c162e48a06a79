import { decodeJwt } from "jose";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createTestApp, type TestApp } from "../support/app.ts";
import { type BrowserClient, createBrowserClient } from "../support/browser-client.ts";

/** What a session of the console reaches in the whole platform, and what it does not. */
let app: TestApp;
let browser: BrowserClient;
let deployments: { id: string; slug: string }[];

beforeAll(async () => {
  app = await createTestApp({ agentAuthRequired: true });
  browser = await signedIn();
  deployments = [];
  for (const name of ["first", "second"]) {
    const { body } = await app.call<{ id: string; url: string }>("POST", "/v2/deployments", {
      body: { name, source: "internal_source", source_config: {}, source_revision_config: {} },
    });
    deployments.push({ id: body.id, slug: body.url.split("/d/")[1]! });
  }
});
afterAll(() => app?.stop());

async function signedIn(): Promise<BrowserClient> {
  const client = createBrowserClient(async (request) => app.app.fetch(request));
  const { status } = await client.send("POST", "/v2/auth/sign-in/key", { body: { api_key: app.apiKey } });
  expect(status).toBe(201);
  return client;
}

async function tokenFor(id: string, client = browser): Promise<string> {
  const { status, body } = await client.send("POST", `/v2/deployments/${id}/tokens`);
  expect(status).toBe(201);
  const { token, expires_at } = body as { token: string; expires_at: string };
  // The server's time is the database's: the token is asked how long it lives, not the clock of this process.
  const { iat, exp } = decodeJwt(token.slice("tdt_".length));
  expect(exp! - iat!).toBe(10 * 60);
  expect(Math.floor(Date.parse(expires_at) / 1000)).toBe(exp);
  return token;
}

const withToken = (path: string, token: string) => app.call("GET", path, { headers: { "x-api-key": token } });

describe("the session", () => {
  it("opens the platform's own endpoints, in every area", async () => {
    for (const path of ["/v2/deployments", "/api/v1/sessions", "/api/assistants"]) {
      expect((await browser.send("GET", path)).status, path).toBe(200);
    }
    expect((await browser.send("POST", "/threads/search", { body: {} })).status).toBe(200);
  });

  it("401: is nobody at the gateway", async () => {
    const [first] = deployments;
    expect((await browser.send("GET", `/d/${first!.slug}/info`)).status).toBe(401);
    expect((await browser.send("POST", `/d/${first!.slug}/threads`, { body: {} })).status).toBe(401);
  });
});

describe("a token for a deployment", () => {
  it("opens that deployment and no other", async () => {
    const [first, second] = deployments;
    const token = await tokenFor(first!.id);
    // Entered: there is a deployment, which serves nothing yet.
    expect((await withToken(`/d/${first!.slug}/info`, token)).status).toBe(503);
    expect((await withToken(`/d/${second!.slug}/info`, token)).status).toBe(404);
    expect((await withToken("/d/no-such-one/info", token)).status).toBe(404);
  });

  it("403: opens nothing else, whatever the area", async () => {
    const token = await tokenFor(deployments[0]!.id);
    const open = new Set<string>();
    for (const { spec } of app.app.routes) {
      if (spec.access.kind === "open") continue;
      const path = spec.path.replace(/\{[^}]+\}/g, crypto.randomUUID());
      const answer = await app.call(spec.method.toUpperCase(), path, {
        headers: { authorization: `Bearer ${token}` },
        ...(spec.method === "get" ? {} : { body: {} }),
      });
      if (answer.status !== 403) open.add(`${spec.method} ${spec.path}: ${answer.status}`);
    }
    expect([...open]).toEqual([]);
  });

  it("401: ends with the session that made it, and when it was changed", async () => {
    const [first] = deployments;
    const other = await signedIn();
    const token = await tokenFor(first!.id, other);
    expect((await withToken(`/d/${first!.slug}/info`, token)).status).toBe(503);
    const forged = `${token.slice(0, -6)}AAAAAA`;
    expect((await withToken(`/d/${first!.slug}/info`, forged)).status).toBe(401);
    expect((await other.send("DELETE", "/v2/auth/sessions/current")).status).toBe(204);
    expect((await withToken(`/d/${first!.slug}/info`, token)).status).toBe(401);
  });

  it("404: is not made for what is not there", async () => {
    const { status } = await browser.send("POST", `/v2/deployments/${crypto.randomUUID()}/tokens`);
    expect(status).toBe(404);
  });

  it("has the rights of the person and no more", async () => {
    const [first] = deployments;
    const { body } = await app.call<{ key: string }>("POST", "/v2/api-keys", {
      body: { name: "viewer", role: "viewer" },
    });
    const viewer = createBrowserClient(async (request) => app.app.fetch(request));
    await viewer.send("POST", "/v2/auth/sign-in/key", { body: { api_key: body.key } });
    const token = await tokenFor(first!.id, viewer);
    const answer = await app.call("POST", `/d/${first!.slug}/threads`, {
      body: {},
      headers: { "x-api-key": token },
    });
    expect(answer.status).toBe(403);
  });
});

describe("cookies", () => {
  it("over https are Secure and under a name that neighbours cannot set", async () => {
    const https = await createTestApp({ publicUrl: "https://treadle.example.com" });
    try {
      const client = createBrowserClient(
        async (request) => https.app.fetch(request),
        "https://treadle.example.com",
      );
      const body = { api_key: https.apiKey, remember: true };
      expect((await client.send("POST", "/v2/auth/sign-in/key", { body })).status).toBe(201);
      expect(client.received[0]).toMatch(
        /^__Host-treadle_session=[\w-]{43}; Path=\/; HttpOnly; SameSite=Strict; Secure; Max-Age=604800$/,
      );
      expect((await client.send("GET", "/v2/workspaces")).status).toBe(200);
      // The same value under the plain name, as a page of a neighbouring host could plant it.
      const [value] = client.cookies.values();
      client.cookies.clear();
      client.cookies.set("treadle_session", value!);
      expect((await client.send("GET", "/v2/workspaces")).status).toBe(401);
    } finally {
      await https.stop();
    }
  });
});
