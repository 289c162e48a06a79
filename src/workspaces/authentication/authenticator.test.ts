import { randomUUID } from "node:crypto";
import { SignJWT } from "jose";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { waitUntil } from "../../../tests/support/components/wait-until.ts";
import { callApp, createWorkspacesApp, type WorkspacesApp } from "../../../tests/support/workspaces-app.ts";
import { raw } from "../../platform/db/raw.ts";

let app: WorkspacesApp;
let secondWorkspaceId: string;
beforeAll(async () => {
  app = await createWorkspacesApp();
  const created = await app.call("POST", "/v2/workspaces", { body: { name: "Second" } });
  secondWorkspaceId = (created.body as { id: string }).id;
});
afterAll(() => app.stop());

type Created = { id: string; key: string };

async function createKey(body: Record<string, unknown> = {}): Promise<Created> {
  const answer = await app.call("POST", "/v2/api-keys", { body: { name: "A key", ...body } });
  expect(answer.status).toBe(201);
  return answer.body as Created;
}

async function lastUse(id: string): Promise<Date | null> {
  const { rows } = await raw<{ last_used_at: Date | null }>`
    select last_used_at from api_keys where id = ${id}`.execute(app.database.sql);
  return rows[0]!.last_used_at;
}

describe("200", () => {
  test("X-Api-Key, or Bearer in any letter case", async () => {
    const { key } = await createKey();
    const spellings: Record<string, string>[] = [
      { "x-api-key": key },
      { "X-API-KEY": ` ${key} ` },
      { authorization: `Bearer ${key}` },
      { authorization: `bearer  ${key}` },
    ];
    for (const headers of spellings) {
      expect((await callApp(app.fetch, "GET", "/v2/members", { headers })).status).toBe(200);
    }
  });

  test("X-Api-Key wins over an Authorization that is meant for someone else", async () => {
    const headers = { authorization: "Basic dXNlcjpwYXNz" };
    expect((await app.call("GET", "/v2/members", { headers })).status).toBe(200);
  });

  test("X-Tenant-Id chooses among the workspaces of a key", async () => {
    const first = await app.call("GET", "/v2/members", { tenant: app.workspaceId });
    const second = await app.call("GET", "/v2/members", { tenant: secondWorkspaceId.toUpperCase() });
    expect([first.status, second.status]).toEqual([200, 200]);
  });
});

describe("401", () => {
  test("no credential, also when the headers are there but empty", async () => {
    const empty: Record<string, string>[] = [
      {},
      { "x-api-key": "" },
      { "x-api-key": "  ", authorization: "" },
    ];
    for (const headers of empty) {
      const answer = await callApp(app.fetch, "GET", "/v2/members", { headers });
      expect(answer).toMatchObject({ status: 401, body: { detail: expect.any(String) } });
    }
  });

  test("unknown keys, foreign schemes and tokens that are no sessions of ours", async () => {
    const unsigned = `${base64({ alg: "none" })}.${base64({ sub: app.userId })}.`;
    const stranger = await new SignJWT({ sub: app.userId, workspace_id: app.workspaceId })
      .setProtectedHeader({ alg: "HS256", kid: randomUUID() })
      .sign(new TextEncoder().encode("a secret of a stranger, long enough"));
    const bad = [
      "Bearer nonsense",
      "Bearer",
      "Basic dXNlcjpwYXNz",
      `Bearer ${unsigned}`,
      `Bearer ${stranger}`,
    ];
    for (const authorization of bad) {
      const answer = await callApp(app.fetch, "GET", "/v2/members", { headers: { authorization } });
      expect(answer).toMatchObject({ status: 401, body: { detail: expect.any(String) } });
    }
  });

  test("a revoked key, in this process and in others, although both had just recognised it", async () => {
    const { id, key } = await createKey();
    const other = app.another();
    await other.workspaces.bootstrap({ rememberedKey: app.apiKey });
    for (const fetch of [app.fetch, other.fetch]) {
      expect((await callApp(fetch, "GET", "/v2/members", { key })).status).toBe(200);
    }
    expect((await app.call("DELETE", `/v2/api-keys/${id}`)).status).toBe(204);
    expect((await callApp(app.fetch, "GET", "/v2/members", { key })).status).toBe(401);
    // The clock of the test stands still, so only the announcement can end what the other process remembers.
    await waitUntil(async () => (await callApp(other.fetch, "GET", "/v2/members", { key })).status === 401, {
      what: "the other process to hear of the revocation",
      timeoutMs: 10_000,
    });
  });

  test("an expired key, even while it is remembered", async () => {
    const expiresAt = new Date(app.clock.now().getTime() + 1000);
    const { key } = await createKey({ expires_at: expiresAt.toISOString() });
    expect((await callApp(app.fetch, "GET", "/v2/members", { key })).status).toBe(200);
    app.clock.advance(1000);
    expect(await callApp(app.fetch, "GET", "/v2/members", { key })).toMatchObject({
      status: 401,
      body: { detail: expect.stringContaining("expired") },
    });
  });
});

describe("403", () => {
  test("another workspace, an unknown one, and none among several", async () => {
    const { key } = await createKey();
    for (const tenant of [secondWorkspaceId, randomUUID()]) {
      expect((await callApp(app.fetch, "GET", "/v2/members", { key, tenant })).status).toBe(403);
    }
    expect(await callApp(app.fetch, "GET", "/v2/members", { key: app.apiKey })).toMatchObject({
      status: 403,
      body: { detail: expect.stringContaining("requires workspace specification") },
    });
  });
});

describe("422", () => {
  test("an X-Tenant-Id that is no uuid", async () => {
    expect(await app.call("GET", "/v2/members", { tenant: "my workspace" })).toMatchObject({
      status: 422,
      body: { detail: [{ loc: ["header", "X-Tenant-Id"] }] },
    });
  });
});

describe("last use", () => {
  test("is recorded, at most once a minute", async () => {
    const { id, key } = await createKey();
    expect(await lastUse(id)).toBeNull();
    const first = app.clock.now();
    await callApp(app.fetch, "GET", "/v2/members", { key });
    const recorded = () => lastUse(id).then((at) => at?.getTime());
    await waitUntil(async () => (await recorded()) === first.getTime(), {
      what: "the first use",
      timeoutMs: 10_000,
    });

    app.clock.advance(30_000);
    await callApp(app.fetch, "GET", "/v2/members", { key });
    const other = app.another();
    await callApp(other.fetch, "GET", "/v2/members", { key });
    await other.workspaces.stop();
    expect(await recorded()).toBe(first.getTime());

    app.clock.advance(31_000);
    const second = app.clock.now();
    await callApp(app.fetch, "GET", "/v2/members", { key });
    await waitUntil(async () => (await recorded()) !== first.getTime(), {
      what: "the next use",
      timeoutMs: 10_000,
    });
    expect(await recorded()).toBe(second.getTime());
  });
});

function base64(value: unknown): string {
  return Buffer.from(JSON.stringify(value)).toString("base64url");
}
