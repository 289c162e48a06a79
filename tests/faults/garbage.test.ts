import { afterAll, beforeAll, expect, it } from "vitest";
import type { Route } from "../../src/platform/http/route.ts";
import { createTestApp, type TestApp } from "../support/app.ts";

/** Nonsense for every route of the whole application: refused with 4xx, never a 5xx, and the server stays alive. */
let test: TestApp;
beforeAll(async () => {
  test = await createTestApp();
});
afterAll(() => test?.stop());

const perRoute = 12;
/** Routes that may wait for long when the nonsense happens to make sense. */
const answerMs = 10_000;

/** The same nonsense every time: a small generator with a fixed seed. */
function createRandom(seed: number) {
  let state = seed;
  const next = () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state / 2 ** 32;
  };
  const pick = <T>(items: readonly T[]): T => items[Math.floor(next() * items.length)]!;
  return { next, pick };
}

const random = createRandom(20261115);
const strings = [
  "",
  "x",
  "\u0000",
  "\ud800",
  "💥".repeat(50),
  "../../etc/passwd",
  "'; drop table runs; --",
  "null",
  "{{7*7}}",
  "a".repeat(5000),
];
const segments = [
  "x",
  "%00",
  "%ff",
  "..",
  "-1",
  "00000000-0000-0000-0000-000000000000",
  "11111111-1111-1111-1111-111111111111",
  "%F0%9F%92%A5",
  "a".repeat(300),
];

function nonsense(depth = 0): unknown {
  const kind = random.next();
  if (kind < 0.15) return null;
  if (kind < 0.3) return random.pick([0, -1, 1.5, 1e308, 2 ** 53]);
  if (kind < 0.4) return random.pick([true, false]);
  if (kind < 0.65 || depth > 3) return random.pick(strings);
  if (kind < 0.8) return Array.from({ length: 3 }, () => nonsense(depth + 1));
  return Object.fromEntries(
    Array.from({ length: 3 }, (_, index) => [
      random.pick(["id", "name", "limit", "__proto__", `k${index}`]),
      nonsense(depth + 1),
    ]),
  );
}

/** Starts from the names the schema knows, so that the nonsense gets past the first check. */
function bodyFor(route: Route): unknown {
  const shape = (route.spec.body as { shape?: Record<string, unknown> } | undefined)?.shape;
  if (!shape || random.next() < 0.3) return nonsense();
  return Object.fromEntries(
    Object.keys(shape)
      .filter(() => random.next() < 0.5)
      .map((name) => [name, nonsense(1)]),
  );
}

function pathFor(route: Route): string {
  const path = route.spec.path.replace(/\{[\w.-]+\*?\}/g, () => random.pick(segments));
  const shape = (route.spec.query as { shape?: Record<string, unknown> } | undefined)?.shape ?? {};
  const query = Object.keys(shape)
    .filter(() => random.next() < 0.5)
    .map(
      (name) =>
        `${name}=${encodeURIComponent(String(random.pick(["", "x", "-1", "99999999999", "%", "null"])))}`,
    );
  return query.length > 0 ? `${path}?${query.join("&")}` : path;
}

it("nonsense on every route is refused, not a failure", async () => {
  const failures: string[] = [];
  // `/ready` takes no input, and says 503 of an app whose work was not started.
  for (const route of test.app.routes.filter(({ spec }) => spec.path !== "/ready")) {
    for (let round = 0; round < perRoute; round += 1) {
      const method = route.spec.method.toUpperCase();
      const path = pathFor(route);
      const body =
        method === "GET" ? undefined : random.next() < 0.1 ? '{"broken": ' : JSON.stringify(bodyFor(route));
      const stop = AbortSignal.timeout(answerMs);
      try {
        const response = await Promise.race([
          test.fetch(path, {
            method,
            headers: { "content-type": "application/json" },
            signal: stop,
            ...(body === undefined ? {} : { body }),
          }),
          new Promise<never>((_, reject) =>
            stop.addEventListener("abort", () => reject(new Error("no answer"))),
          ),
        ]);
        if (response.status >= 500 && response.status !== 502) {
          failures.push(
            `${method} ${path.slice(0, 120)} ${body?.slice(0, 200)} -> ${response.status} ${(await response.text()).slice(0, 200)}`,
          );
        } else await response.body?.cancel();
      } catch (error) {
        // A path the URL parser itself refuses never leaves the client.
        if (!(error instanceof TypeError)) failures.push(`${method} ${path.slice(0, 120)}: ${String(error)}`);
      }
    }
  }
  expect(failures).toEqual([]);
  expect((await test.call("GET", "/ok")).status).toBe(200);
}, 600_000);
