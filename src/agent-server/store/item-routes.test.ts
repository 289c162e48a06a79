import { Client } from "@langchain/langgraph-sdk";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { createTestDatabase, type TestDatabase } from "../../../tests/support/database.ts";
import {
  createTestClock,
  createWorkspacesApp,
  type TestClock,
  type WorkspacesApp,
} from "../../../tests/support/workspaces-app.ts";
import { raw } from "../../platform/db/raw.ts";
import { newId } from "../../platform/ids.ts";
import { createLogger } from "../../platform/logger.ts";
import { createStore, type Store } from "./store.ts";

let testDatabase: TestDatabase;
let clock: TestClock;
let store: Store;
let app: WorkspacesApp;
let client: Client;

beforeAll(async () => {
  testDatabase = await createTestDatabase();
  const { database } = testDatabase;
  clock = createTestClock();
  store = createStore({ database, clock, logger: createLogger({ level: "silent" }) });
  app = await createWorkspacesApp({ routes: store.routes, testDatabase });
  client = new Client({
    apiUrl: "http://127.0.0.1",
    apiKey: app.apiKey,
    callerOptions: {
      maxRetries: 0,
      fetch: (url: string, init: RequestInit) => app.fetch(new Request(url, init)),
    },
  });
});

afterAll(async () => {
  await app?.stop();
  await testDatabase?.drop();
});

beforeEach(async () => {
  await raw`truncate store_items cascade`.execute(testDatabase.database.sql);
});

async function put(namespace: string[], key: string, value: Record<string, unknown>, more: object = {}) {
  const answer = await app.call("PUT", "/store/items", { body: { namespace, key, value, ...more } });
  expect(answer.status).toBe(204);
  clock.advance(1);
}

async function keysFound(body: object): Promise<string[]> {
  const answer = await app.call("POST", "/store/items/search", { body });
  expect(answer.status).toBe(200);
  return (answer.body as { items: { key: string }[] }).items.map((item) => item.key);
}

describe("the JavaScript client", () => {
  it("writes, reads, overwrites and deletes an item", async () => {
    await client.store.putItem(["users", "u1"], "prefs", { theme: "dark", odd: "a\u0000b\uD800" });
    const item = await client.store.getItem(["users", "u1"], "prefs");
    expect(item).toMatchObject({
      namespace: ["users", "u1"],
      key: "prefs",
      value: { theme: "dark", odd: "a\u0000b\uD800" },
    });
    clock.advance(1_000);
    await client.store.putItem(["users", "u1"], "prefs", { theme: "light" });
    const later = await client.store.getItem(["users", "u1"], "prefs");
    expect(later?.value).toEqual({ theme: "light" });
    expect(later?.createdAt).toBe(item?.createdAt);
    expect(Date.parse(later!.updatedAt)).toBe(Date.parse(item!.updatedAt) + 1_000);
    await client.store.deleteItem(["users", "u1"], "prefs");
    await client.store.deleteItem(["users", "u1"], "prefs");
    expect(await client.store.getItem(["users", "u1"], "prefs")).toBeNull();
  });

  it("searches and lists namespaces", async () => {
    await client.store.putItem(["users", "u1"], "a", { n: 1 });
    await client.store.putItem(["users", "u2"], "b", { n: 2 });
    const { items } = await client.store.searchItems(["users"], { filter: { n: { $gte: 2 } } });
    expect(items).toMatchObject([{ key: "b", namespace: ["users", "u2"], value: { n: 2 } }]);
    expect(items[0]!.createdAt).toMatch(/^\d{4}-/);
    expect(await client.store.listNamespaces({ prefix: ["users"] })).toEqual({
      namespaces: [
        ["users", "u1"],
        ["users", "u2"],
      ],
    });
  });
});

describe("GET /store/items", () => {
  it("takes the namespace as repeated parameters too", async () => {
    await put(["a", "b"], "k", { x: 1 });
    for (const query of ["namespace=a.b", "namespace=a&namespace=b"]) {
      const answer = await app.call("GET", `/store/items?key=k&${query}`);
      expect(answer.body).toMatchObject({ namespace: ["a", "b"], value: { x: 1 } });
    }
  });

  it("answers null for what another workspace holds", async () => {
    const other = newId();
    await store.items.put(other, { namespace: ["a"], key: "k", value: { of: "other" } });
    expect((await app.call("GET", "/store/items?namespace=a&key=k")).body).toBeNull();
    expect(await keysFound({})).toEqual([]);
    expect((await app.call("POST", "/store/namespaces", { body: {} })).body).toEqual({ namespaces: [] });
    await put(["a"], "k", { of: "ours" });
    await app.call("DELETE", "/store/items", { body: { namespace: ["a"], key: "k" } });
    expect(await store.items.getMany(other, [{ namespace: ["a"], key: "k" }])).toMatchObject([
      { value: { of: "other" } },
    ]);
  });
});

describe("422", () => {
  it.each([
    [{ namespace: [], key: "k", value: {} }, ["body", "namespace"]],
    [{ namespace: ["a", ""], key: "k", value: {} }, ["body", "namespace", 1]],
    [{ namespace: ["a.b"], key: "k", value: {} }, ["body", "namespace", 0]],
    [{ namespace: ["langgraph"], key: "k", value: {} }, ["body", "namespace", 0]],
    [{ namespace: ["a"], key: "", value: {} }, ["body", "key"]],
    [{ namespace: ["a"], key: "k", value: [1] }, ["body", "value"]],
    [{ namespace: ["a"], key: "k" }, ["body", "value"]],
    [{ namespace: ["a"], key: "k", value: {}, ttl: 0 }, ["body", "ttl"]],
    [{ namespace: ["a"], key: "k", value: {}, index: true }, ["body", "index"]],
  ])("PUT %j names the field", async (body, loc) => {
    const answer = await app.call("PUT", "/store/items", { body });
    expect(answer.status).toBe(422);
    expect(answer.body).toMatchObject({ detail: [{ loc }] });
  });

  it("names what is wrong with a read", async () => {
    for (const [path, loc] of [
      ["/store/items?namespace=a..b&key=k", ["query", "namespace", 1]],
      ["/store/items?namespace=&key=k", ["query", "namespace", 0]],
      ["/store/items?key=k", ["query", "namespace"]],
      ["/store/items?namespace=a", ["query", "key"]],
    ] as const) {
      const answer = await app.call("GET", path);
      expect(answer.status, path).toBe(422);
      expect(answer.body, path).toMatchObject({ detail: [{ loc }] });
    }
  });

  it("names the comparison it does not know", async () => {
    const answer = await app.call("POST", "/store/items/search", { body: { filter: { n: { $near: 1 } } } });
    expect(answer.status).toBe(422);
    expect(answer.body).toMatchObject({ detail: [{ loc: ["body", "filter", "n", "$near"] }] });
  });

  it("says when a value is nested too deeply", async () => {
    const depth = 60_000;
    const body = `{"namespace":["a"],"key":"k","value":{"x":${"[".repeat(depth)}${"]".repeat(depth)}}}`;
    const request = new Request("http://127.0.0.1/store/items", {
      method: "PUT",
      headers: { "x-api-key": app.apiKey, "content-type": "application/json" },
      body,
    });
    const response = await app.fetch(request);
    expect(response.status).toBe(422);
  });
});

describe("POST /store/items/search", () => {
  it("keeps to the namespace, label by label, newest first", async () => {
    await put(["user"], "root", {});
    await put(["user", "1"], "one", {});
    await put(["user", "1", "deep"], "deep", {});
    await put(["user", "10"], "ten", {});
    await put(["user-x"], "beside", {});
    expect(await keysFound({ namespace_prefix: ["user"] })).toEqual(["ten", "deep", "one", "root"]);
    expect(await keysFound({ namespace_prefix: ["user", "1"] })).toEqual(["deep", "one"]);
    expect(await keysFound({ namespace_prefix: ["user"], limit: 2, offset: 1 })).toEqual(["deep", "one"]);
    expect(await keysFound({ limit: 1 })).toEqual(["beside"]);
  });

  it("filters by equality and by comparison, like with like", async () => {
    await put(["f"], "a", { n: 1, s: "alpha", on: true, tags: ["x"], o: { p: 1 } });
    await put(["f"], "b", { n: 10, s: "beta", on: false, tags: ["x", "y"], o: { p: 1, q: 2 } });
    await put(["f"], "c", { n: "10", s: null });
    const found = async (filter: object) => (await keysFound({ namespace_prefix: ["f"], filter })).sort();
    expect(await found({ n: 10 })).toEqual(["b"]);
    expect(await found({ n: { $gt: 1 } })).toEqual(["b"]);
    expect(await found({ n: { $gte: 1, $lt: 10 } })).toEqual(["a"]);
    expect(await found({ n: { $lte: 9.5 } })).toEqual(["a"]);
    expect(await found({ n: { $ne: 10 } })).toEqual(["a", "c"]);
    expect(await found({ s: { $gt: "alpha" } })).toEqual(["b"]);
    expect(await found({ s: null })).toEqual(["c"]);
    expect(await found({ on: { $eq: true } })).toEqual(["a"]);
    expect(await found({ on: { $ne: true } })).toEqual(["b", "c"]);
    expect(await found({ tags: ["x"] })).toEqual(["a"]);
    expect(await found({ o: { p: 1 } })).toEqual(["a"]);
    expect(await found({ n: { $in: [1, "10"] } })).toEqual(["a", "c"]);
    expect(await found({ n: { $nin: [1, "10"] } })).toEqual(["b"]);
    expect(await found({ gone: { $in: [1] } })).toEqual([]);
    expect(await found({ n: 10, s: "alpha" })).toEqual([]);
  });

  it("without an index puts items with more of the query's words first", async () => {
    await put(["m"], "pizza", { memory: "Likes PIZZA and red wine" });
    await put(["m"], "wine", { deep: [{ memory: "Drinks wine" }] });
    await put(["m"], "pizza-key", { pizza: "a name is no text" });
    expect(await keysFound({ namespace_prefix: ["m"], query: "pizza with wine?" })).toEqual([
      "pizza",
      "wine",
      "pizza-key",
    ]);
  });
});

describe("POST /store/namespaces", () => {
  const list = async (body: object) =>
    ((await app.call("POST", "/store/namespaces", { body })).body as { namespaces: string[][] }).namespaces;

  it("matches prefixes and suffixes with wildcards, and cuts to a depth", async () => {
    for (const path of ["a.b.c", "a.b.d", "a.x.c", "b.b.c", "a"]) await put(path.split("."), "k", {});
    const joined = async (body: object) => (await list(body)).map((labels) => labels.join("."));
    expect(await joined({})).toEqual(["a", "a.b.c", "a.b.d", "a.x.c", "b.b.c"]);
    expect(await joined({ prefix: ["a", "b"] })).toEqual(["a.b.c", "a.b.d"]);
    expect(await joined({ prefix: ["*", "b"] })).toEqual(["a.b.c", "a.b.d", "b.b.c"]);
    expect(await joined({ suffix: ["c"] })).toEqual(["a.b.c", "a.x.c", "b.b.c"]);
    expect(await joined({ prefix: ["a"], suffix: ["*", "c"] })).toEqual(["a.b.c", "a.x.c"]);
    expect(await joined({ max_depth: 2 })).toEqual(["a", "a.b", "a.x", "b.b"]);
    expect(await joined({ max_depth: 1, limit: 1, offset: 1 })).toEqual(["b"]);
  });
});

describe("time to live", () => {
  const minutes = (count: number) => clock.advance(count * 60_000);
  const get = (query = "") =>
    app.call("GET", `/store/items?namespace=t&key=k${query}`).then(({ body }) => body);

  it("hides what has expired and sweeps it", async () => {
    await put(["t"], "k", { x: 1 }, { ttl: 10 });
    await put(["t"], "stays", { x: 2 });
    minutes(11);
    expect(await get()).toBeNull();
    expect(await keysFound({})).toEqual(["stays"]);
    expect(await store.items.sweep()).toBe(1);
    expect(await store.items.sweep()).toBe(0);
    expect(await keysFound({})).toEqual(["stays"]);
  });

  it("begins again with a read, unless the reader says no", async () => {
    await put(["t"], "k", { x: 1 }, { ttl: 10 });
    minutes(8);
    expect(await get()).not.toBeNull();
    minutes(8);
    expect(await keysFound({ namespace_prefix: ["t"] })).toEqual(["k"]);
    minutes(8);
    expect(await get("&refresh_ttl=false")).not.toBeNull();
    expect(await keysFound({ refresh_ttl: false })).toEqual(["k"]);
    minutes(3);
    expect(await get()).toBeNull();
  });

  it("makes an expired item new when it is written again", async () => {
    await put(["t"], "k", { x: 1 }, { ttl: 1 });
    minutes(2);
    const now = clock.now().toISOString();
    await put(["t"], "k", { x: 2 });
    expect(await get()).toMatchObject({ value: { x: 2 }, created_at: now, updated_at: now });
    minutes(1_000_000);
    expect(await get()).not.toBeNull();
  });

  it("follows the configured default, which null overrides", async () => {
    const { database } = testDatabase;
    const logger = createLogger({ level: "silent" });
    const configured = createStore({
      database,
      clock,
      logger,
      ttl: { defaultTtlMinutes: 5, refreshOnRead: false },
    });
    const workspaceId = newId();
    const refs = ["short", "ever"].map((key) => ({ namespace: ["t"], key }));
    await configured.items.put(workspaceId, { ...refs[0]!, value: {} });
    await configured.items.put(workspaceId, { ...refs[1]!, value: {}, ttlMinutes: null });
    minutes(4);
    expect(await configured.items.getMany(workspaceId, refs)).toMatchObject([
      { key: "short" },
      { key: "ever" },
    ]);
    minutes(2);
    expect(await configured.items.getMany(workspaceId, refs)).toMatchObject([null, { key: "ever" }]);
  });
});
