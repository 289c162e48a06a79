import { describe, expect, test } from "vitest";
import { readConfig } from "./index.ts";
import { countWorkers, pickStartEnvironment, requireUsableWorkers } from "./workers.ts";

const gigabyte = 1024 ** 3;
const count = (environment: Record<string, string>, cores: number, gigabytes = 64) =>
  countWorkers(readConfig(environment), { cores, memoryBytes: gigabytes * gigabyte });

describe("by itself", () => {
  test.each([
    [1, 0],
    [2, 0],
    [3, 0],
    [4, 2],
    [5, 2],
    [8, 4],
    [16, 8],
    [128, 8],
  ])("%i cores get %i worker processes", (cores, expected) => {
    expect(count({}, cores)).toBe(expected);
    expect(count({ TREADLE_WORKERS: "auto" }, cores)).toBe(expected);
  });

  test("each has a gigabyte of memory, after one for the server", () => {
    expect([0.5, 1, 1.9, 2, 3.8, 5, 64].map((memory) => count({}, 8, memory))).toEqual([0, 0, 0, 1, 2, 4, 4]);
  });

  test("no more than there may be runs at once", () => {
    expect(count({ TREADLE_RUN_CONCURRENCY: "1" }, 16)).toBe(1);
  });

  test("none beside a process with roles", () => {
    const config = readConfig({ TREADLE_ROLES: "api,worker" });
    expect(countWorkers(config, { cores: 16, memoryBytes: 64 * gigabyte })).toBe(0);
    expect(() => requireUsableWorkers(config)).not.toThrow();
  });
});

describe("a number", () => {
  test.each([0, 1, 2, 32])("%i is taken as it is, on any machine", (workers) => {
    expect(count({ TREADLE_WORKERS: String(workers) }, 2, 1)).toBe(workers);
  });

  test.each(["33", "-1", "1.5", "two", "0x2", "1e1"])("%s is refused", (given) => {
    expect(() => readConfig({ TREADLE_WORKERS: given })).toThrow(
      `TREADLE_WORKERS: must be auto, or a whole number from 0 to 32 (it is "${given}")`,
    );
  });

  test("contradicts roles, unless it is 0", () => {
    const refuse = (workers: string) => () =>
      requireUsableWorkers(readConfig({ TREADLE_ROLES: "worker", TREADLE_WORKERS: workers }));
    expect(refuse("2")).toThrow(/TREADLE_WORKERS=2 is for one server .* TREADLE_ROLES=worker/);
    expect(refuse("0")).not.toThrow();
  });

  test("needs as many runs at once", () => {
    const given = readConfig({ TREADLE_WORKERS: "4", TREADLE_RUN_CONCURRENCY: "3" });
    expect(() => requireUsableWorkers(given)).toThrow(/TREADLE_RUN_CONCURRENCY is 3/);
  });
});

test("a worker process begins without secrets", () => {
  const begun = pickStartEnvironment({
    PATH: "/bin",
    NODE_OPTIONS: "--x",
    NODE_AUTH_TOKEN: "a",
    https_proxy: "http://proxy",
    TREADLE_SECRET_KEY: "b",
    OPENAI_API_KEY: "c",
    DATABASE_URL: "postgres://x",
    UV_INDEX_MINE_PASSWORD: "d",
  });
  expect(Object.keys(begun)).toEqual(["PATH", "NODE_OPTIONS", "https_proxy"]);
});
