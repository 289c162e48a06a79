import { expect, test } from "vitest";
import { createTestClock } from "../../tests/support/workspaces-app.ts";
import { ExpiringCache } from "./expiring-cache.ts";

function create(maxEntries = 2) {
  const clock = createTestClock();
  return { clock, cache: new ExpiringCache<string>({ clock, ttlMs: 1000, maxEntries }) };
}

test("what was found is remembered until it is too old", async () => {
  const { clock, cache } = create();
  expect(await cache.load("a", async () => "first")).toBe("first");
  expect(await cache.load("a", async () => "second")).toBe("first");
  clock.advance(1001);
  expect(await cache.load("a", async () => "second")).toBe("second");
});

test("what was not found is not remembered", async () => {
  const { cache } = create();
  expect(await cache.load("a", async () => undefined)).toBeUndefined();
  expect(cache.size()).toBe(0);
});

test("the entry used longest ago makes room", async () => {
  const { cache } = create();
  await cache.load("a", async () => "a");
  await cache.load("b", async () => "b");
  cache.get("a");
  await cache.load("c", async () => "c");
  expect([cache.get("a"), cache.get("b"), cache.get("c")]).toEqual(["a", undefined, "c"]);
});

test("what was being looked up during a clear is not remembered", async () => {
  const { cache } = create();
  const lookup = Promise.withResolvers<string>();
  const loading = cache.load("a", () => lookup.promise);
  cache.clear();
  lookup.resolve("stale");
  expect(await loading).toBe("stale");
  expect(cache.get("a")).toBeUndefined();
});
