import { decodeJwt, decodeProtectedHeader } from "jose";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { createTestDatabase, type TestDatabase } from "../../../tests/support/database.ts";
import { callApp, createWorkspacesApp, type WorkspacesApp } from "../../../tests/support/workspaces-app.ts";
import { raw } from "../../platform/db/raw.ts";

let testDatabase: TestDatabase;
let app: WorkspacesApp;
beforeAll(async () => {
  testDatabase = await createTestDatabase();
});
beforeEach(async () => {
  app = await createWorkspacesApp({ testDatabase });
});
afterEach(() => app.stop());
afterAll(() => testDatabase.drop());

type Session = { token: string; expires_at: string };

async function start(options: { key?: string } = {}): Promise<Session> {
  const answer = await app.call("POST", "/v2/auth/sessions", options);
  expect(answer).toMatchObject({
    status: 201,
    body: { workspace_id: app.workspaceId, token_type: "bearer" },
  });
  expect(answer.headers.get("cache-control")).toBe("no-store");
  return answer.body as Session;
}

async function createKey(body: Record<string, unknown>): Promise<{ id: string; key: string }> {
  const answer = await app.call("POST", "/v2/api-keys", { body: { name: "A key", ...body } });
  return answer.body as { id: string; key: string };
}

describe("201", () => {
  test("the token is an EdDSA JWT that acts as its user in its workspace for an hour", async () => {
    const { token, expires_at } = await start();
    expect(decodeProtectedHeader(token)).toMatchObject({ alg: "EdDSA" });
    expect(decodeJwt(token)).toMatchObject({ sub: app.userId, workspace_id: app.workspaceId, role: "admin" });
    expect(new Date(expires_at).getTime() - app.clock.now().getTime()).toBe(3_600_000);
    expect((await app.call("GET", "/v2/members", { bearer: token })).status).toBe(200);
  });

  test("another process accepts it, and both sign with one key whose private part is sealed", async () => {
    const { token } = await start();
    const other = app.another();
    await other.workspaces.bootstrap({ rememberedKey: app.apiKey });
    expect((await callApp(other.fetch, "GET", "/v2/members", { bearer: token })).status).toBe(200);
    const second = await callApp(other.fetch, "POST", "/v2/auth/sessions", { key: app.apiKey });
    expect(decodeProtectedHeader((second.body as Session).token).kid).toBe(decodeProtectedHeader(token).kid);
    const { rows } = await raw<{ public_jwk: Record<string, string>; private_jwk_sealed: string }>`
      select public_jwk, private_jwk_sealed from signing_keys`.execute(app.database.sql);
    expect(rows).toHaveLength(1);
    expect(rows[0]!.public_jwk).not.toHaveProperty("d");
    expect(rows[0]!.private_jwk_sealed).toMatch(/^t1\./);
  });

  test("it keeps the workspace, also when its user has several", async () => {
    const { token } = await start();
    await app.call("POST", "/v2/workspaces", { body: { name: "Second" } });
    expect((await app.call("GET", "/v2/members", { bearer: token })).status).toBe(200);
    expect((await app.call("GET", "/v2/members", { bearer: token, tenant: app.workspaceId })).status).toBe(
      200,
    );
  });

  test("it has the rights of its key and ends with it", async () => {
    const inTenMinutes = new Date(app.clock.now().getTime() + 600_000).toISOString();
    const { key } = await createKey({ role: "viewer", expires_at: inTenMinutes });
    const { token, expires_at } = await start({ key });
    expect(expires_at).toBe(inTenMinutes);
    expect((await app.call("GET", "/v2/members", { bearer: token })).status).toBe(200);
    expect((await app.call("POST", "/v2/api-keys", { bearer: token, body: { name: "No" } })).status).toBe(
      403,
    );
  });
});

describe("401", () => {
  test("after an hour", async () => {
    const { token } = await start();
    app.clock.advance(3_600_000);
    expect(await app.call("GET", "/v2/members", { bearer: token })).toMatchObject({
      status: 401,
      body: { detail: expect.stringContaining("expired") },
    });
  });

  test("as soon as its key is revoked", async () => {
    const { id, key } = await createKey({});
    const { token } = await start({ key });
    expect((await app.call("GET", "/v2/members", { bearer: token })).status).toBe(200);
    await app.call("DELETE", `/v2/api-keys/${id}`);
    expect((await app.call("GET", "/v2/members", { bearer: token })).status).toBe(401);
  });

  test("when any part of it was changed", async () => {
    const { token } = await start();
    const [header, payload, signature] = token.split(".") as [string, string, string];
    const claims = { ...decodeJwt(token), exp: 9_999_999_999 };
    const forged = Buffer.from(JSON.stringify(claims)).toString("base64url");
    const unsigned = Buffer.from(JSON.stringify({ alg: "none" })).toString("base64url");
    for (const bad of [
      `${header}.${forged}.${signature}`,
      `${unsigned}.${payload}.`,
      `${header}.${payload}.`,
      `${header}.${payload}.${signature.slice(0, -6)}AAAAAA`,
    ]) {
      expect((await app.call("GET", "/v2/members", { bearer: bad })).status).toBe(401);
    }
  });
});

describe("403", () => {
  test("a session starts no session", async () => {
    const { token } = await start();
    expect((await app.call("POST", "/v2/auth/sessions", { bearer: token })).status).toBe(403);
  });

  test("another workspace of the same user needs its own session", async () => {
    const created = await app.call("POST", "/v2/workspaces", { body: { name: "Second" } });
    const tenant = (created.body as { id: string }).id;
    const { token } = await start();
    expect((await app.call("GET", "/v2/members", { bearer: token, tenant })).status).toBe(403);
  });
});
