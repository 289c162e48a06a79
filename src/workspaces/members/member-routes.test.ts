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

type Member = { user_id: string };

async function add(role = "editor", tenant = app.workspaceId, email = `${randomUUID()}@example.com`) {
  const answer = await app.call("POST", "/v2/members", { tenant, body: { email, role } });
  expect(answer.status).toBe(201);
  return answer.body as Member;
}

async function keyOf(userId: string, tenant = app.workspaceId, more: object = {}): Promise<string> {
  const body = { name: "A key", user_id: userId, ...more };
  const answer = await app.call("POST", "/v2/api-keys", { tenant, body });
  expect(answer.status).toBe(201);
  return (answer.body as { key: string }).key;
}

async function addWorkspace(): Promise<string> {
  const answer = await app.call("POST", "/v2/workspaces", { body: { name: "Second" } });
  return (answer.body as { id: string }).id;
}

describe("201 and 200", () => {
  test("a member is added, listed, read and given another role", async () => {
    const body = { email: "Ada@Example.com", name: "Ada", role: "viewer" };
    const added = await app.call("POST", "/v2/members", { body });
    expect(added).toMatchObject({ status: 201, body });
    const { user_id } = added.body as Member;
    expect((await app.call("GET", "/v2/members")).body).toMatchObject({
      resources: [{ user_id: app.userId }, { user_id }],
      offset: 2,
    });
    expect(await app.call("PATCH", `/v2/members/${user_id}`, { body: { role: "editor" } })).toMatchObject({
      status: 200,
      body: { role: "editor" },
    });
    expect((await app.call("GET", `/v2/members/${user_id}`)).body).toMatchObject({
      role: "editor",
      name: "Ada",
    });
  });

  test("the same address in another workspace is the same user", async () => {
    const second = await addWorkspace();
    const here = await add("viewer", app.workspaceId, "ada@example.com");
    const there = await add("admin", second, "ADA@example.com");
    expect(there.user_id).toBe(here.user_id);
  });

  test("a new role counts at once for keys in use", async () => {
    const { user_id } = await add("editor");
    const key = await keyOf(user_id);
    expect((await app.call("POST", "/v2/api-keys", { key, body: { name: "x" } })).status).toBe(201);
    await app.call("PATCH", `/v2/members/${user_id}`, { body: { role: "viewer" } });
    expect((await app.call("POST", "/v2/api-keys", { key, body: { name: "x" } })).status).toBe(403);
  });
});

describe("204", () => {
  test("a removed member's keys stop here and go on elsewhere", async () => {
    const second = await addWorkspace();
    const { user_id } = await add("editor", app.workspaceId, "ada@example.com");
    await add("editor", second, "ada@example.com");
    const [here, there] = [await keyOf(user_id), await keyOf(user_id, second)];
    expect((await callApp(app.fetch, "GET", "/v2/members", { key: here })).status).toBe(200);
    expect((await app.call("DELETE", `/v2/members/${user_id}`)).status).toBe(204);
    expect((await callApp(app.fetch, "GET", "/v2/members", { key: here })).status).toBe(401);
    expect((await callApp(app.fetch, "GET", "/v2/members", { key: there })).status).toBe(200);
    expect((await app.call("GET", `/v2/members/${user_id}`)).status).toBe(404);
  });
});

describe("403", () => {
  test("editors change no members", async () => {
    const { user_id } = await add("editor");
    const key = await keyOf(user_id);
    const body = { email: "b@example.com", role: "viewer" };
    expect((await app.call("POST", "/v2/members", { key, body })).status).toBe(403);
    expect((await app.call("PATCH", `/v2/members/${user_id}`, { key, body: { role: "admin" } })).status).toBe(
      403,
    );
    expect((await app.call("DELETE", `/v2/members/${user_id}`, { key })).status).toBe(403);
  });
});

describe("404", () => {
  test("members of another workspace and unknown ones", async () => {
    const second = await addWorkspace();
    const { user_id } = await add("editor", second);
    for (const id of [user_id, randomUUID()]) {
      expect((await app.call("GET", `/v2/members/${id}`)).status).toBe(404);
      expect((await app.call("PATCH", `/v2/members/${id}`, { body: { role: "viewer" } })).status).toBe(404);
      expect((await app.call("DELETE", `/v2/members/${id}`)).status).toBe(404);
    }
    expect((await app.call("GET", `/v2/members/${user_id}`, { tenant: second })).status).toBe(200);
  });
});

describe("409", () => {
  test("the last admin stays, as admin", async () => {
    const path = `/v2/members/${app.userId}`;
    expect((await app.call("PATCH", path, { body: { role: "editor" } })).status).toBe(409);
    expect((await app.call("DELETE", path)).status).toBe(409);
    expect((await app.call("GET", path)).body).toMatchObject({ role: "admin" });
  });

  test("an admin without a key does not count, one with a key does", async () => {
    const { user_id } = await add("admin");
    expect((await app.call("DELETE", `/v2/members/${app.userId}`)).status).toBe(409);
    const key = await keyOf(user_id, app.workspaceId, { role: "admin", expires_at: null });
    expect((await app.call("DELETE", `/v2/members/${app.userId}`)).status).toBe(204);
    expect((await app.call("GET", "/v2/members", { key })).status).toBe(200);
  });

  test("a user cannot be added twice", async () => {
    await add("viewer", app.workspaceId, "ada@example.com");
    const body = { email: "ADA@example.com", role: "viewer" };
    expect((await app.call("POST", "/v2/members", { body })).status).toBe(409);
  });
});

describe("422", () => {
  test("addresses, roles and ids that are none", async () => {
    for (const body of [{}, { email: "ada" }, { email: "ada@example.com", role: "owner" }]) {
      expect((await app.call("POST", "/v2/members", { body })).status).toBe(422);
    }
    expect((await app.call("PATCH", `/v2/members/${app.userId}`, { body: {} })).status).toBe(422);
    expect((await app.call("GET", "/v2/members/ada")).status).toBe(422);
  });
});
