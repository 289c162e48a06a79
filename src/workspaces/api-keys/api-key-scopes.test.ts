import { randomUUID } from "node:crypto";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { createTestDatabase, type TestDatabase } from "../../../tests/support/database.ts";
import { callApp, createWorkspacesApp, type WorkspacesApp } from "../../../tests/support/workspaces-app.ts";
import { raw } from "../../platform/db/raw.ts";
import { json, route } from "../../platform/http/route.ts";

let testDatabase: TestDatabase;
let app: WorkspacesApp;
beforeAll(async () => {
  testDatabase = await createTestDatabase();
});
beforeEach(async () => {
  app = await createWorkspacesApp({ testDatabase, routes: [accounts, whoami] });
});
afterEach(() => app.stop());
afterAll(() => testDatabase.drop());

const shared = { method: "get", tag: "Test", responses: { 200: { description: "Yes" } } } as const;
/** An example of a route that uses a person's connected accounts. */
const accounts = route(
  {
    ...shared,
    path: "/test/accounts",
    operationId: "test_accounts",
    summary: "Use accounts",
    access: { kind: "workspace", role: "viewer", scope: "accounts" },
  },
  () => json(200, {}),
);
const whoami = route(
  {
    ...shared,
    path: "/test/whoami",
    operationId: "test_whoami",
    summary: "Who asks",
    access: { kind: "workspace", role: "viewer", scope: ["read", "runs", "deploy"] },
  },
  ({ caller }) => json(200, caller),
);

type Key = {
  id: string;
  key: string;
  role: string;
  scopes: string[] | null;
  user_id: string | null;
  service: boolean;
  created_by: string | null;
  expires_at: string | null;
};

async function create(body: Record<string, unknown> = {}, by = app.apiKey): Promise<Key> {
  const answer = await app.call("POST", "/v2/api-keys", { key: by, body: { name: "A key", ...body } });
  expect(answer).toMatchObject({ status: 201 });
  return answer.body as Key;
}
const refusal = async (body: Record<string, unknown>, by = app.apiKey) =>
  app.call("POST", "/v2/api-keys", { key: by, body: { name: "A key", ...body } });
const statusOf = async (key: string, path: string, method = "GET", body?: unknown) =>
  (await app.call(method, path, { key, ...(body === undefined ? {} : { body }) })).status;
async function addMember(role = "admin"): Promise<string> {
  const answer = await app.call("POST", "/v2/members", {
    body: { email: `${randomUUID()}@example.com`, role },
  });
  return (answer.body as { user_id: string }).user_id;
}

describe("scopes", () => {
  test("a key with scopes does what they say and nothing else", async () => {
    const made = await create({ role: "admin", scopes: ["read", "read"] });
    expect(made).toMatchObject({ role: "admin", scopes: ["read"] });
    expect(await statusOf(made.key, "/v2/members")).toBe(200);
    const refused = await app.call("POST", "/v2/members", {
      key: made.key,
      body: { email: "a@example.com" },
    });
    expect(refused).toMatchObject({
      status: 403,
      body: {
        detail: "This needs the scope admin; the credential has the scope read. Use a key that has it.",
      },
    });
    expect(refused.headers.get("www-authenticate")).toContain('error="insufficient_scope", scope="admin"');
  });

  test("a key without scopes has what its role gives, as keys that are older have", async () => {
    const { key, id } = await create({ role: "admin" });
    await raw`update api_keys set scopes = null, created_by = null where id = ${id}`.execute(
      app.database.sql,
    );
    expect(await statusOf(key, "/v2/members", "POST", { email: "a@example.com" })).toBe(201);
  });

  test("a session has the scopes of its key", async () => {
    const { key } = await create({ scopes: ["read"] });
    const { body } = await app.call("POST", "/v2/auth/sessions", { key });
    const bearer = (body as { token: string }).token;
    expect((await app.call("GET", "/v2/members", { bearer })).status).toBe(200);
    expect((await app.call("POST", "/v2/members", { bearer, body: { email: "a@example.com" } })).status).toBe(
      403,
    );
  });

  test("403: a key gives no scope it has not", async () => {
    const { key } = await create({ scopes: ["admin"] });
    expect((await refusal({ scopes: ["runs"] }, key)).status).toBe(201);
    // The route already refuses a key with fewer scopes; the service enforces the rule independently.
    await raw`update api_keys set scopes = '{runs}' where role = 'admin' and scopes = '{admin}'`.execute(
      app.database.sql,
    );
    // Longer than a key is remembered.
    app.clock.advance(6_000);
    expect((await refusal({ scopes: ["runs"] }, key)).status).toBe(403);
  });

  test("422: scopes that make no sense are named", async () => {
    const bad: [Record<string, unknown>, string][] = [
      [{ scopes: [] }, "scopes"],
      [{ scopes: ["everything"] }, "scopes"],
      [{ scopes: ["export"], role: "editor" }, "scopes"],
      [{ scopes: ["runs"], role: "viewer" }, "scopes"],
      [{ tracing_project: "mine" }, "tracing_project"],
      [{ tracing_project: "mine", scopes: ["traces:write", "read"] }, "tracing_project"],
    ];
    for (const [body, field] of bad) {
      const { status, body: answer } = await refusal(body);
      expect(
        [status, (answer as { detail: { loc: string[] }[] }).detail[0]!.loc[1]],
        JSON.stringify(body),
      ).toEqual([422, field]);
    }
  });

  test("409: a key whose scopes do not administer is no admin key", async () => {
    await create({ scopes: ["read"] });
    const { body } = await app.call("GET", "/v2/api-keys?limit=100");
    const [first] = (body as { resources: Key[] }).resources.slice(-1);
    expect((await app.call("DELETE", `/v2/api-keys/${first!.id}`)).status).toBe(409);
    await create({ scopes: ["admin"] });
    expect((await app.call("DELETE", `/v2/api-keys/${first!.id}`)).status).toBe(204);
  });
});

describe("service keys", () => {
  test("belong to the workspace and to nobody, and live on when their maker leaves", async () => {
    const userId = await addMember();
    const admin = await create({ user_id: userId, role: "admin" });
    const made = await create({ service: true, scopes: ["deploy", "read"] }, admin.key);
    expect(made).toMatchObject({ service: true, user_id: null, role: "editor", scopes: ["deploy", "read"] });
    expect((await app.call("DELETE", `/v2/members/${userId}`)).status).toBe(204);
    const { body } = await callApp(app.fetch, "GET", "/test/whoami", { key: made.key });
    expect(body).toMatchObject({
      via: "service",
      userId: made.id,
      workspaceId: app.workspaceId,
      mayUseAccounts: false,
    });
    const seen = await callApp(app.fetch, "GET", "/v2/workspaces", { key: made.key });
    expect(seen.body).toMatchObject({ resources: [{ id: app.workspaceId, role: "editor" }] });
    const { body: listed } = await app.call("GET", "/v2/api-keys");
    expect((listed as { resources: Key[] }).resources.map(({ id }) => id)).toContain(made.id);
    expect((await app.call("DELETE", `/v2/api-keys/${made.id}`)).status).toBe(204);
    expect(await statusOf(made.key, "/test/whoami")).toBe(401);
  });

  test("403: no keys, no sessions, no accounts, no other workspace", async () => {
    const { key } = await create({
      service: true,
      scopes: ["read", "runs", "deploy", "export"],
      role: "admin",
    });
    expect(await statusOf(key, "/v2/api-keys", "POST", { name: "No" })).toBe(403);
    expect(await statusOf(key, "/v2/auth/sessions", "POST")).toBe(403);
    expect(await statusOf(key, "/test/accounts")).toBe(403);
    const second = await app.call("POST", "/v2/workspaces", { body: { name: "Second" } });
    const tenant = (second.body as { id: string }).id;
    expect((await app.call("GET", "/test/whoami", { key, tenant })).status).toBe(403);
  });

  test("403 for editors, and 422 without scopes, with those of people, for a user or for every workspace", async () => {
    const editor = await create({ role: "editor" });
    expect((await refusal({ service: true, scopes: ["read"] }, editor.key)).status).toBe(403);
    const userId = await addMember();
    for (const body of [
      {},
      { scopes: ["admin"] },
      { scopes: ["accounts"] },
      { scopes: ["read"], user_id: userId },
      { scopes: ["read"], workspace_id: null },
    ]) {
      expect((await refusal({ service: true, ...body })).status, JSON.stringify(body)).toBe(422);
    }
  });

  test("401 once their workspace is gone", async () => {
    const second = await app.call("POST", "/v2/workspaces", { body: { name: "Second" } });
    const tenant = (second.body as { id: string }).id;
    const made = await app.call("POST", "/v2/api-keys", {
      tenant,
      body: { name: "ci", service: true, scopes: ["read"] },
    });
    const { key } = made.body as Key;
    expect((await callApp(app.fetch, "GET", "/test/whoami", { key })).status).toBe(200);
    expect((await app.call("DELETE", `/v2/workspaces/${tenant}`)).status).toBe(204);
    expect((await callApp(app.fetch, "GET", "/test/whoami", { key })).status).toBe(403);
  });
});

describe("expiry", () => {
  test("in days, and 401 that says so from then on", async () => {
    const { key, expires_at } = await create({ expires_in_days: 1.5, scopes: ["read"] });
    expect(new Date(expires_at!).getTime() - app.clock.now().getTime()).toBe(36 * 3_600_000);
    expect(await statusOf(key, "/v2/members")).toBe(200);
    app.clock.advance(36 * 3_600_000);
    expect(await app.call("GET", "/v2/members", { key })).toMatchObject({
      status: 401,
      body: { detail: `The API key expired at ${expires_at}. Create a new one.` },
    });
  });

  test("422 for both forms at once, and for less than nothing", async () => {
    const later = new Date(app.clock.now().getTime() + 1000).toISOString();
    expect((await refusal({ expires_at: later, expires_in_days: 1 })).status).toBe(422);
    expect((await refusal({ expires_in_days: 0 })).status).toBe(422);
  });
});

describe("a key that somebody else made", () => {
  test("does not use the accounts of its user; one that the user made does", async () => {
    const userId = await addMember();
    const given = await create({ user_id: userId });
    expect(given).toMatchObject({ user_id: userId, created_by: app.userId });
    const refused = await app.call("GET", "/test/accounts", { key: given.key });
    expect(refused).toMatchObject({
      status: 403,
      body: { detail: expect.stringContaining("not created by its user") },
    });
    const own = await create();
    expect(own).toMatchObject({ created_by: app.userId });
    expect(await statusOf(own.key, "/test/accounts")).toBe(200);
  });

  test("neither do the keys and sessions made with it, for whomever", async () => {
    const userId = await addMember();
    const given = await create({ user_id: userId, role: "admin" });
    const again = await create({}, given.key);
    expect(again).toMatchObject({ user_id: userId, created_by: app.userId });
    expect(await statusOf(again.key, "/test/accounts")).toBe(403);
    // Nor does it become the maker's own key by being made for the maker.
    const back = await create({ user_id: app.userId }, given.key);
    expect(back).toMatchObject({ user_id: app.userId, created_by: null });
    expect(await statusOf(back.key, "/test/accounts")).toBe(403);
    const { body } = await app.call("POST", "/v2/auth/sessions", { key: given.key });
    const bearer = (body as { token: string }).token;
    expect((await app.call("GET", "/test/accounts", { bearer })).status).toBe(403);
  });

  test("of an older key whose maker is not known, the same is assumed", async () => {
    const { id, key } = await create();
    await raw`update api_keys set created_by = null where id = ${id}`.execute(app.database.sql);
    expect(await statusOf(key, "/test/accounts")).toBe(403);
    expect(await statusOf(key, "/v2/members")).toBe(200);
  });

  test("and one without the scope uses none, whoever made it", async () => {
    const { key } = await create({ scopes: ["runs", "read"] });
    const { body } = await app.call("GET", "/test/whoami", { key });
    expect(body).toMatchObject({ mayUseAccounts: false });
    const wide = await create({ scopes: ["read", "accounts"] });
    expect((await app.call("GET", "/test/whoami", { key: wide.key })).body as object).toMatchObject({
      mayUseAccounts: true,
    });
  });
});
