import { randomUUID } from "node:crypto";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { createTestDatabase, type TestDatabase } from "../../../tests/support/database.ts";
import { callApp, createWorkspacesApp, type WorkspacesApp } from "../../../tests/support/workspaces-app.ts";

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

type Created = { id: string; key: string; role: string; workspace_id: string | null; user_id: string };

async function create(body: Record<string, unknown> = {}, key = app.apiKey): Promise<Created> {
  const answer = await app.call("POST", "/v2/api-keys", { key, body: { name: "A key", ...body } });
  expect(answer).toMatchObject({ status: 201 });
  return answer.body as Created;
}

async function addMember(role: string): Promise<string> {
  const email = `${randomUUID()}@example.com`;
  const answer = await app.call("POST", "/v2/members", { body: { email, role } });
  return (answer.body as { user_id: string }).user_id;
}

async function addWorkspace(): Promise<string> {
  const answer = await app.call("POST", "/v2/workspaces", { body: { name: "Second" } });
  return (answer.body as { id: string }).id;
}

async function listIds(key = app.apiKey, tenant = app.workspaceId): Promise<string[]> {
  const answer = await app.call("GET", "/v2/api-keys?limit=100", { key, tenant });
  return (answer.body as { resources: { id: string }[] }).resources.map((resource) => resource.id);
}

describe("GET 200", () => {
  test("pages newest first and never shows a key", async () => {
    const keys = [await create({ name: "one" }), await create({ name: "two" })];
    const first = await app.call("GET", "/v2/api-keys?limit=2");
    expect(first).toMatchObject({
      status: 200,
      body: { resources: [{ name: "two" }, { name: "one" }], offset: 2 },
    });
    for (const { key } of keys) expect(JSON.stringify(first.body)).not.toContain(key);
    const rest = await app.call("GET", "/v2/api-keys?limit=2&offset=2");
    expect(rest.body).toMatchObject({ resources: [{ name: "Generated at start" }], offset: 3 });
  });

  test("others than admins see their own keys only", async () => {
    const userId = await addMember("editor");
    const own = await create({ user_id: userId, role: "editor" });
    expect(await listIds(own.key)).toEqual([own.id]);
    expect(await listIds()).toHaveLength(2);
  });

  test("keys of another workspace are not listed", async () => {
    const second = await addWorkspace();
    const here = await create();
    expect(await listIds(app.apiKey, second)).not.toContain(here.id);
  });
});

describe("POST 201", () => {
  test("gives an editor's key that works for 90 days, for the workspace of the request", async () => {
    const created = (await create()) as Created & { expires_at: string; created_at: string };
    expect(created).toMatchObject({ role: "editor", workspace_id: app.workspaceId, user_id: app.userId });
    const days = (Date.parse(created.expires_at) - Date.parse(created.created_at)) / 86_400_000;
    expect(days).toBeCloseTo(90, 2);
    expect((await callApp(app.fetch, "GET", "/v2/members", { key: created.key })).status).toBe(200);
  });

  test("more than that has to be asked for", async () => {
    expect(await create({ role: "admin", expires_at: null })).toMatchObject({
      role: "admin",
      expires_at: null,
    });
    expect(await create({ expires_in_days: null })).toMatchObject({ expires_at: null });
    expect(await create({ scopes: ["export"] })).toMatchObject({ role: "admin" });
    expect(await create({ scopes: ["read"] })).toMatchObject({ role: "viewer" });
  });

  test("a viewer's key reads and does not write", async () => {
    const { key } = await create({ role: "viewer" });
    expect((await app.call("GET", "/v2/api-keys", { key })).status).toBe(200);
    expect((await app.call("POST", "/v2/api-keys", { key, body: { name: "No" } })).status).toBe(403);
  });

  test("the key of every workspace may make another such key", async () => {
    const second = await addWorkspace();
    const wide = await create({ workspace_id: null });
    expect(wide.workspace_id).toBeNull();
    expect((await callApp(app.fetch, "GET", "/v2/members", { key: wide.key, tenant: second })).status).toBe(
      200,
    );
  });
});

describe("POST 403", () => {
  test("more rights than the caller has, or a key for someone else, as editor", async () => {
    const userId = await addMember("viewer");
    const { key } = await create({ role: "editor" });
    for (const body of [
      { name: "No", role: "admin" },
      { name: "No", user_id: userId },
    ]) {
      expect((await app.call("POST", "/v2/api-keys", { key, body })).status).toBe(403);
    }
    expect(await create({ role: "editor" }, key)).toMatchObject({ role: "editor" });
  });

  test("every workspace, from a key or a session of one, or for someone else", async () => {
    const narrow = await create();
    const session = await callApp(app.fetch, "POST", "/v2/auth/sessions", { key: app.apiKey });
    const { token } = session.body as { token: string };
    const userId = await addMember("admin");
    const body = { name: "No", workspace_id: null };
    expect((await app.call("POST", "/v2/api-keys", { key: narrow.key, body })).status).toBe(403);
    expect((await app.call("POST", "/v2/api-keys", { bearer: token, body })).status).toBe(403);
    expect((await app.call("POST", "/v2/api-keys", { body: { ...body, user_id: userId } })).status).toBe(403);
  });
});

describe("POST 422", () => {
  test("what cannot be stored is named", async () => {
    const viewer = await addMember("viewer");
    const bad: [Record<string, unknown>, string][] = [
      [{}, "name"],
      [{ name: " " }, "name"],
      [{ name: "a\u0000b" }, "name"],
      [{ name: "x".repeat(201) }, "name"],
      [{ name: "x", role: "owner" }, "role"],
      [{ name: "x", user_id: "me" }, "user_id"],
      [{ name: "x", user_id: randomUUID() }, "user_id"],
      [{ name: "x", user_id: viewer, role: "editor" }, "role"],
      [{ name: "x", workspace_id: randomUUID() }, "workspace_id"],
      [{ name: "x", expires_at: "tomorrow" }, "expires_at"],
      [{ name: "x", expires_at: "2001-01-01T00:00:00Z" }, "expires_at"],
    ];
    for (const [body, field] of bad) {
      const answer = await app.call("POST", "/v2/api-keys", { body });
      expect(answer, JSON.stringify(body)).toMatchObject({
        status: 422,
        body: { detail: [{ loc: ["body", field] }] },
      });
    }
  });
});

describe("DELETE", () => {
  test("204 revokes, also the key in use; then 404", async () => {
    const { id, key } = await create({ role: "admin" });
    expect((await app.call("DELETE", `/v2/api-keys/${id}`, { key })).status).toBe(204);
    expect((await app.call("GET", "/v2/members", { key })).status).toBe(401);
    expect((await app.call("DELETE", `/v2/api-keys/${id}`)).status).toBe(404);
    expect(await listIds()).toHaveLength(1);
  });

  test("404 for a key of another workspace", async () => {
    const second = await addWorkspace();
    const here = await create();
    expect((await app.call("DELETE", `/v2/api-keys/${here.id}`, { tenant: second })).status).toBe(404);
    expect((await callApp(app.fetch, "GET", "/v2/members", { key: here.key })).status).toBe(200);
  });

  test("403 for editors, also of their own key", async () => {
    const { id, key } = await create({ role: "editor" });
    expect((await app.call("DELETE", `/v2/api-keys/${id}`, { key })).status).toBe(403);
  });

  test("403 for a key that opens workspaces the caller does not administer", async () => {
    const second = await addWorkspace();
    const userId = await addMember("admin");
    const local = await create({ user_id: userId, role: "admin" });
    const [bootstrapKeyId] = (await listIds(app.apiKey, second)).slice(-1);
    const refused = await app.call("DELETE", `/v2/api-keys/${bootstrapKeyId}`, { key: local.key });
    expect(refused).toMatchObject({
      status: 403,
      body: { detail: expect.stringContaining("do not administer") },
    });
  });

  test("409 for the last admin key of a workspace, of which viewers' and expiring keys are none", async () => {
    const [id] = await listIds();
    await create({ role: "editor" });
    const soon = new Date(app.clock.now().getTime() + 1000).toISOString();
    await create({ role: "admin", expires_at: soon });
    app.clock.advance(2000);
    expect(await app.call("DELETE", `/v2/api-keys/${id}`)).toMatchObject({
      status: 409,
      body: { detail: expect.stringContaining(app.workspaceId) },
    });
    await create({ role: "admin", expires_at: null });
    expect((await app.call("DELETE", `/v2/api-keys/${id}`)).status).toBe(204);
  });

  test("409 for one of two admin keys that are revoked at the same moment", async () => {
    const [first] = await listIds();
    const second = await create({ role: "admin", expires_at: null });
    const answers = await Promise.all([
      app.call("DELETE", `/v2/api-keys/${first}`),
      app.call("DELETE", `/v2/api-keys/${second.id}`),
    ]);
    expect(answers.map((answer) => answer.status).sort()).toEqual([204, 409]);
  });

  test("422 for an id that is no uuid", async () => {
    expect((await app.call("DELETE", "/v2/api-keys/some-key")).status).toBe(422);
  });
});
