import { expect, test } from "vitest";
import { readConfig } from "../config/index.ts";
import { fitConnections, shareOf, workerConfigOf } from "./worker-config.ts";

const place = {
  databaseUrl: "postgres://here/treadle",
  publicUrl: "http://127.0.0.1:8124",
  internalUrl: "http://127.0.0.1:8124",
};

test("what may go on at once is shared, and nothing of it is lost", () => {
  const shares = (total: number, count: number) =>
    Array.from({ length: count }, (_, index) => shareOf(total, { number: index + 1, count }));
  expect(shares(100, 3)).toEqual([34, 33, 33]);
  expect(shares(2, 4)).toEqual([1, 1, 0, 0]);
  expect(shares(8, 1)).toEqual([8]);
});

test("a worker process has its part of the work and its server's addresses", () => {
  const config = readConfig({ TREADLE_RUN_CONCURRENCY: "10", TREADLE_EXPORT_CONCURRENCY: "2" });
  const made = [1, 2, 3].map((number) => workerConfigOf(config, { ...place, number, count: 3 }));
  expect(made.map(({ runConcurrency }) => runConcurrency)).toEqual([4, 3, 3]);
  expect(made.map(({ roles }) => roles)).toEqual([["worker", "export"], ["worker", "export"], ["worker"]]);
  expect(made[2]).toMatchObject({ ...place, dataDir: config.dataDir, secretKey: config.secretKey });
});

test("all processes together hold at most half of the database's connections", () => {
  const hold = (most: number, poolSize = 10) => fitConnections({ most, poolSize, count: 8 });
  expect(hold(300)).toEqual({ fitting: 11, needed: 108 });
  expect(hold(100).fitting).toBe(3);
  expect(hold(30).fitting).toBe(0);
  expect(hold(3).fitting).toBe(0);
});
