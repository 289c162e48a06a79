import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createTestDatabase, type TestDatabase } from "../../../../tests/support/database.ts";
import { systemClock } from "../../../platform/clock.ts";
import { newId } from "../../../platform/ids.ts";
import { createLogger } from "../../../platform/logger.ts";
import { createStore } from "../../store/store.ts";
import { type GraphKit, loadServerKit } from "./graph-kit.ts";
import { createStoreFactory, type StoreFactory } from "./graph-store.ts";

let testDatabase: TestDatabase;
let stores: StoreFactory;
let kit: GraphKit;

beforeAll(async () => {
  testDatabase = await createTestDatabase();
  const logger = createLogger({ level: "silent" });
  const { items } = createStore({ database: testDatabase.database, clock: systemClock, logger });
  stores = createStoreFactory(items);
  kit = await loadServerKit();
});
afterAll(() => testDatabase?.drop());

function open(workspaceId = newId()) {
  return stores.forWorkspace(kit, workspaceId)!;
}

describe("the store a graph gets", () => {
  it("is a store of the graph's own library, one per workspace", () => {
    const workspaceId = newId();
    const own = open(workspaceId);
    expect(own).toBeInstanceOf(kit.BaseStore);
    expect(open(workspaceId)).toBe(own);
    expect(open()).not.toBe(own);
  });

  it("puts, gets, searches, lists and deletes", async () => {
    const graphStore = open();
    await graphStore.put(["users", "u1"], "a", { n: 1 });
    await graphStore.put(["users", "u2"], "b", { n: 2 });
    const item = await graphStore.get(["users", "u1"], "a");
    expect(item).toMatchObject({ namespace: ["users", "u1"], key: "a", value: { n: 1 } });
    expect(item!.createdAt).toBeInstanceOf(Date);
    expect(await graphStore.get(["users", "u1"], "none")).toBeNull();
    const found = await graphStore.search(["users"], { filter: { n: { $gt: 1 } } });
    expect(found.map((each) => each.key)).toEqual(["b"]);
    expect(await graphStore.listNamespaces({ prefix: ["users"] })).toEqual([
      ["users", "u1"],
      ["users", "u2"],
    ]);
    expect(await graphStore.listNamespaces({ suffix: ["u2"], maxDepth: 1 })).toEqual([["users"]]);
    await graphStore.delete(["users", "u1"], "a");
    expect(await graphStore.get(["users", "u1"], "a")).toBeNull();
  });

  it("answers a batch in order; its reads come before its writes, and the last write wins", async () => {
    const graphStore = open();
    await graphStore.put(["b"], "gone", { x: 0 });
    const results = await graphStore.batch([
      { namespace: ["b"], key: "k" },
      { namespace: ["b"], key: "k", value: { x: 1 } },
      { namespacePrefix: ["b"] },
      { namespace: ["b"], key: "k", value: { x: 2 } },
      { namespace: ["b"], key: "gone", value: null },
      { limit: 10, offset: 0 },
    ]);
    expect(results[0]).toBeNull();
    expect(results[1]).toBeUndefined();
    expect(results[2]).toMatchObject([{ key: "gone" }]);
    expect(results[5]).toEqual([["b"]]);
    expect((await graphStore.search(["b"])).map(({ key, value }) => [key, value])).toEqual([["k", { x: 2 }]]);
  });

  it("does not show one workspace the items of another", async () => {
    const one = open();
    await one.put(["s"], "k", { secret: true });
    const other = open();
    expect(await other.get(["s"], "k")).toBeNull();
    expect(await other.search([])).toEqual([]);
    expect(await other.listNamespaces()).toEqual([]);
  });

  it("refuses a namespace that batched writes bring without a check, and what is not JSON", async () => {
    const graphStore = open();
    await expect(graphStore.batch([{ namespace: ["a.b"], key: "k", value: {} }])).rejects.toThrow(/period/);
    await expect(graphStore.put(["a"], "k", { big: 1n })).rejects.toThrow(/JSON/);
  });

  it("survives many batches that put and delete the same items at once", async () => {
    const graphStore = open();
    const keys = ["a", "b", "c", "d"];
    const batches = Array.from({ length: 20 }, (_, n) =>
      graphStore.batch(
        (n % 2 ? keys : keys.toReversed()).map((key, index) => ({
          namespace: ["busy"],
          key,
          value: (index + n) % 3 === 0 ? null : { n },
        })),
      ),
    );
    await Promise.all(batches);
    const left = await graphStore.search(["busy"]);
    expect(left.every((item) => typeof item.value.n === "number")).toBe(true);
  });
});
