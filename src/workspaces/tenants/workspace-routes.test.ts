import { randomUUID } from "node:crypto";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { createTestDatabase, type TestDatabase } from "../../../tests/support/database.ts";
import { callApp, createWorkspacesApp, type WorkspacesApp } from "../../../tests/support/workspaces-app.ts";
import { AppError } from "../../platform/errors.ts";

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

async function create(name = "Second"): Promise<string> {
  const answer = await app.call("POST", "/v2/workspaces", { body: { name } });
  expect(answer).toMatchObject({
    status: 201,
    body: { name, role: "admin", organization_id: app.organizationId },
  });
  return (answer.body as { id: string }).id;
}

async function narrowKey(tenant = app.workspaceId, role = "admin"): Promise<string> {
  const answer = await app.call("POST", "/v2/api-keys", { tenant, body: { name: "narrow", role } });
  return (answer.body as { key: string }).key;
}

describe("201 and 200", () => {
  test("a workspace is created, listed, read and renamed", async () => {
    const id = await create();
    expect((await app.call("GET", "/v2/workspaces")).body).toMatchObject({
      resources: [{ id: app.workspaceId }, { id }],
      offset: 2,
    });
    expect(await app.call("PATCH", `/v2/workspaces/${id}`, { body: { name: "Renamed" } })).toMatchObject({
      status: 200,
      body: { id, name: "Renamed" },
    });
    expect((await app.call("GET", `/v2/workspaces/${id}`)).body).toMatchObject({ name: "Renamed" });
  });

  test("a key of one workspace sees that one, with its own role", async () => {
    await create();
    const key = await narrowKey(app.workspaceId, "viewer");
    expect((await callApp(app.fetch, "GET", "/v2/workspaces", { key })).body).toMatchObject({
      resources: [{ id: app.workspaceId, role: "viewer" }],
      offset: 1,
    });
  });
});

describe("204", () => {
  test("a deleted workspace is gone for every key at once", async () => {
    const id = await create();
    const key = await narrowKey(id);
    expect((await callApp(app.fetch, "GET", "/v2/members", { key })).status).toBe(200);
    expect((await app.call("DELETE", `/v2/workspaces/${id}`)).status).toBe(204);
    expect((await callApp(app.fetch, "GET", "/v2/members", { key })).status).toBe(403);
    expect((await app.call("GET", "/v2/members", { tenant: id })).status).toBe(403);
    expect((await app.call("GET", `/v2/workspaces/${id}`)).status).toBe(404);
    expect((await callApp(app.fetch, "GET", "/v2/workspaces", { key: app.apiKey })).status).toBe(200);
  });
});

describe("403", () => {
  test("changes by editors, by admins of another workspace, and by sessions of another one", async () => {
    const id = await create();
    const editor = await narrowKey(app.workspaceId, "editor");
    expect((await app.call("POST", "/v2/workspaces", { key: editor, body: { name: "No" } })).status).toBe(
      403,
    );

    const session = await app.call("POST", "/v2/auth/sessions");
    const bearer = (session.body as { token: string }).token;
    expect((await app.call("GET", `/v2/workspaces/${id}`, { bearer })).status).toBe(200);
    expect((await app.call("DELETE", `/v2/workspaces/${id}`, { bearer })).status).toBe(403);

    const other = await app.call("POST", "/v2/members", {
      tenant: id,
      body: { email: "second@example.com", role: "admin" },
    });
    const userId = (other.body as { user_id: string }).user_id;
    await app.call("POST", "/v2/members", { body: { email: "second@example.com", role: "viewer" } });
    const key = await app.call("POST", "/v2/api-keys", {
      tenant: id,
      body: { name: "k", user_id: userId, role: "admin" },
    });
    const secondAdmin = (key.body as { key: string }).key;
    expect((await app.call("DELETE", `/v2/workspaces/${id}`, { key: secondAdmin, tenant: id })).status).toBe(
      204,
    );
  });
});

describe("404", () => {
  test("a workspace the key does not open, and one that does not exist", async () => {
    const id = await create();
    const key = await narrowKey();
    for (const target of [id, randomUUID()]) {
      expect((await app.call("GET", `/v2/workspaces/${target}`, { key })).status).toBe(404);
      expect(
        (await app.call("PATCH", `/v2/workspaces/${target}`, { key, body: { name: "No" } })).status,
      ).toBe(404);
      expect((await app.call("DELETE", `/v2/workspaces/${target}`, { key })).status).toBe(404);
    }
  });
});

describe("409", () => {
  test("the workspace of the start cannot be deleted", async () => {
    const answer = await app.call("DELETE", `/v2/workspaces/${app.workspaceId}`);
    expect(answer).toMatchObject({
      status: 409,
      body: { detail: expect.stringContaining("TREADLE_WORKSPACE_ID") },
    });
  });
});

describe("409 from another area", () => {
  test("a workspace that is still in use stays", async () => {
    const id = await create();
    const asked: string[] = [];
    const { fetch, workspaces } = app.another({
      beforeWorkspaceDelete: async (workspaceId) => {
        asked.push(workspaceId);
        throw new AppError({
          code: "workspace.has_deployments",
          kind: "conflict",
          message: "It has deployments.",
        });
      },
    });
    await workspaces.bootstrap({ rememberedKey: app.apiKey });
    const call = { key: app.apiKey, tenant: app.workspaceId };
    expect((await callApp(fetch, "DELETE", `/v2/workspaces/${id}`, call)).status).toBe(409);
    expect(asked).toEqual([id]);
    expect((await app.call("GET", `/v2/workspaces/${id}`)).status).toBe(200);
  });
});

describe("422", () => {
  test("names and ids that are none", async () => {
    expect((await app.call("POST", "/v2/workspaces", { body: {} })).status).toBe(422);
    expect((await app.call("POST", "/v2/workspaces", { body: { name: "\u001b[2J" } })).status).toBe(422);
    expect((await app.call("GET", "/v2/workspaces/first")).status).toBe(422);
    for (const query of ["limit=0", "limit=101", "offset=-1", "offset=99999999999", "limit=x"]) {
      expect((await app.call("GET", `/v2/workspaces?${query}`)).status).toBe(422);
    }
  });
});
