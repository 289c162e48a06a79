import { randomUUID } from "node:crypto";
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from "vitest";
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

async function count(table: string): Promise<number> {
  const { rows } = await raw<{ count: number }>`select count(*) from ${raw.table(table)}`.execute(
    app.database.sql,
  );
  return rows[0]!.count;
}

test("a first start makes one of each, and its key works without X-Tenant-Id", async () => {
  expect(app.apiKeyOrigin).toBe("generated");
  for (const table of ["organizations", "workspaces", "users", "memberships", "api_keys"]) {
    expect(await count(table)).toBe(1);
  }
  const answer = await callApp(app.fetch, "GET", "/v2/workspaces", { key: app.apiKey });
  expect(answer).toMatchObject({
    status: 200,
    body: { resources: [{ id: app.workspaceId, role: "admin" }] },
  });
});

test("the key is stored nowhere in plain", async () => {
  const { rows } = await raw<{ row: string }>`
    select to_jsonb(k)::text as row from api_keys k
    union all select to_jsonb(s)::text from install_secrets s`.execute(app.database.sql);
  expect(rows).toHaveLength(2);
  for (const { row } of rows) expect(row).not.toContain(app.apiKey);
});

test("a start that remembers its key changes nothing", async () => {
  const again = await app.another().workspaces.bootstrap({ rememberedKey: app.apiKey });
  expect(again).toMatchObject({
    workspaceId: app.workspaceId,
    organizationId: app.organizationId,
    apiKey: app.apiKey,
    apiKeyOrigin: "known",
  });
  expect(await count("api_keys")).toBe(1);
});

test("a start that lost its key gets another one, and the old one still works", async () => {
  const again = await app.another().workspaces.bootstrap({});
  expect(again.apiKeyOrigin).toBe("generated");
  for (const key of [app.apiKey, again.apiKey]) {
    expect((await callApp(app.fetch, "GET", "/v2/members", { key })).status).toBe(200);
  }
});

test("a given key is added once", async () => {
  const apiKey = "operator-key-0001";
  expect(await app.another().workspaces.bootstrap({ apiKey })).toMatchObject({
    apiKey,
    apiKeyOrigin: "added",
  });
  expect(await app.another().workspaces.bootstrap({ apiKey })).toMatchObject({
    apiKey,
    apiKeyOrigin: "known",
  });
  expect(await count("api_keys")).toBe(2);
  expect((await callApp(app.fetch, "GET", "/v2/members", { key: apiKey })).status).toBe(200);
});

test("a given key that was revoked stays revoked, and the operator gets another", async () => {
  const apiKey = "operator-key-0001";
  await app.another().workspaces.bootstrap({ apiKey });
  await raw`update api_keys set revoked_at = now() where name = 'TREADLE_API_KEY'`.execute(app.database.sql);
  const again = await app.another().workspaces.bootstrap({ apiKey });
  expect(again.apiKeyOrigin).toBe("generated");
  expect((await callApp(app.fetch, "GET", "/v2/members", { key: apiKey })).status).toBe(401);
  expect((await callApp(app.fetch, "GET", "/v2/members", { key: again.apiKey })).status).toBe(200);
});

test("a given key that no header can carry is refused", async () => {
  for (const apiKey of [
    "schlüssel mit umlauten",
    "spaces in a long key",
    "short",
    "eyJhbGciOiJub25lIn0.e30.",
  ]) {
    await expect(app.another().workspaces.bootstrap({ apiKey })).rejects.toMatchObject({
      code: "config.invalid",
      message: expect.stringContaining("TREADLE_API_KEY"),
    });
  }
});

test("another workspace id makes that workspace, once, and the administrator is its admin", async () => {
  const workspaceId = randomUUID();
  const config = { workspaceId, rememberedKey: app.apiKey };
  expect((await app.another().workspaces.bootstrap(config)).workspaceId).toBe(workspaceId);
  expect((await app.another().workspaces.bootstrap(config)).workspaceId).toBe(workspaceId);
  expect(await count("workspaces")).toBe(2);
  expect(await app.call("GET", "/v2/members", { tenant: workspaceId })).toMatchObject({
    status: 200,
    body: { resources: [{ role: "admin", user_id: app.userId }] },
  });
});

test("a deleted workspace named again is restored", async () => {
  const created = await app.call("POST", "/v2/workspaces", { body: { name: "Second" } });
  const { id } = created.body as { id: string };
  expect((await app.call("DELETE", `/v2/workspaces/${id}`)).status).toBe(204);
  await app.another().workspaces.bootstrap({ workspaceId: id, rememberedKey: app.apiKey });
  expect((await app.call("GET", `/v2/workspaces/${id}`)).status).toBe(200);
});

test("processes that start at once agree", async () => {
  await raw`truncate organizations cascade`.execute(app.database.sql);
  const workspaceId = randomUUID();
  const config = { workspaceId, apiKey: "operator-key-0001" };
  const starts = await Promise.all([1, 2, 3, 4].map(() => app.another().workspaces.bootstrap(config)));
  expect(new Set(starts.map((start) => start.organizationId)).size).toBe(1);
  expect(starts.filter((start) => start.apiKeyOrigin === "added")).toHaveLength(1);
  expect(await count("workspaces")).toBe(1);
  expect(await count("api_keys")).toBe(1);
});

test("the credential-free caller acts in the workspace of the start, once there is one", async () => {
  expect(await app.workspaces.authenticator.loopbackCaller()).toMatchObject({
    workspaceId: app.workspaceId,
    via: "loopback",
  });
  await expect(app.another().workspaces.authenticator.loopbackCaller()).rejects.toMatchObject({
    kind: "unavailable",
  });
});

test("the plan is kept with the organization", async () => {
  expect(await app.workspaces.plans.planOf(app.organizationId)).toBe("free");
  await app.workspaces.plans.setPlan(app.organizationId, "plus");
  expect(await app.workspaces.plans.planOf(app.organizationId)).toBe("plus");
  await expect(app.workspaces.plans.planOf(randomUUID())).rejects.toMatchObject({ kind: "not_found" });
});

test("a workspace is known by its name, and one that is not there is not found", async () => {
  expect(await app.workspaces.directory.nameOf(app.workspaceId)).toBe("Default workspace");
  await expect(app.workspaces.directory.nameOf(randomUUID())).rejects.toMatchObject({ kind: "not_found" });
});
