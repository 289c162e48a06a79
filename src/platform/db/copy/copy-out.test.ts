import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { startTcpProxy } from "../../../../tests/support/components/tcp-proxy.ts";
import { createTestDatabase, type TestDatabase } from "../../../../tests/support/database.ts";
import { inlineParameters } from "../inline-parameters.ts";
import { raw } from "../raw.ts";
import { copyOut } from "./copy-out.ts";

let database: TestDatabase;
beforeAll(async () => {
  database = await createTestDatabase();
});
afterAll(() => database.drop());

const never = new AbortController().signal;

async function numbers(select: string): Promise<number[]> {
  const found: number[] = [];
  const rows = await copyOut({
    url: database.url,
    select,
    signal: never,
    onRow: (source, start, end) => {
      expect(source.readInt16BE(start)).toBe(1);
      expect(end - start).toBe(2 + 4 + 4);
      found.push(source.readInt32BE(start + 6));
    },
  });
  expect(rows).toBe(found.length);
  return found;
}

describe("copyOut", () => {
  test("hands over every row, also of none and of many", async () => {
    expect(await numbers("select 1 where false")).toEqual([]);
    expect(await numbers("select n from generate_series(1, 100000) n")).toEqual(
      Array.from({ length: 100_000 }, (_, index) => index + 1),
    );
  });

  test("hands over rows larger than what comes at once", async () => {
    const lengths: number[] = [];
    await copyOut({
      url: database.url,
      select: "select repeat('ä', n * 300000) from generate_series(0, 5) n",
      signal: never,
      onRow: (source, start) => lengths.push(source.readInt32BE(start + 2)),
    });
    expect(lengths).toEqual([0, 600_000, 1_200_000, 1_800_000, 2_400_000, 3_000_000]);
  });

  test("can be paused and goes on", async () => {
    let rows = 0;
    await copyOut({
      url: database.url,
      select: "select repeat('x', 1000) from generate_series(1, 20000)",
      signal: never,
      onStart: (control) => {
        control.pause();
        setTimeout(() => control.resume(), 20);
      },
      onRow: () => {
        rows += 1;
      },
    });
    expect(rows).toBe(20_000);
  });

  test("fails with what the database says, and with what the reader says", async () => {
    const failing = (select: string) =>
      copyOut({ url: database.url, select, signal: never, onRow: () => {} });
    await expect(failing("select 1/0")).rejects.toThrow("division by zero");
    await expect(failing("select nothing")).rejects.toThrow("nothing");
    const picky = copyOut({
      url: database.url,
      select: "select n from generate_series(1, 1000) n",
      signal: never,
      onRow: () => {
        throw new Error("not this one");
      },
    });
    await expect(picky).rejects.toThrow("not this one");
  });

  test("ends at once on abort", async () => {
    const controller = new AbortController();
    const work = copyOut({
      url: database.url,
      select: "select pg_sleep(60)::text",
      signal: controller.signal,
      onStart: () => controller.abort(new Error("no longer wanted")),
      onRow: () => {},
    });
    await expect(work).rejects.toThrow("no longer wanted");
  });

  test("calls a lost connection by its name", async () => {
    const proxy = await startTcpProxy({ target: database.url });
    const url = new URL(database.url);
    url.host = `${proxy.host}:${proxy.port}`;
    const work = copyOut({
      url: url.href,
      select: "select n, pg_sleep(0.01)::text from generate_series(1, 100000) n",
      signal: never,
      onStart: () => setTimeout(() => proxy.cut(), 50),
      onRow: () => {},
    });
    await expect(work).rejects.toMatchObject({ code: "database.unavailable", retryable: true });
    await proxy.stop();
  });
});

describe("inlineParameters", () => {
  const odd = ["it's", '"', "\\", "$1", "é\n", "", "a'; drop table x; --", "E'\\'"];

  test("writes values that mean what bound ones mean", async () => {
    for (const value of odd) {
      const statement = raw<{
        a: string;
        b: string[];
      }>`select ${value}::text as a, ${[value, null, value]}::text[] as b,
        '$1 ''quoted''' as "c$1"`;
      const bound = await statement.execute(database.database.sql);
      const inlined = await raw
        .raw<{ a: string; b: string[] }>(inlineParameters(database.database.sql, statement))
        .execute(database.database.sql);
      expect(inlined.rows).toEqual(bound.rows);
      expect(inlined.rows[0]).toMatchObject({ a: value, b: [value, null, value] });
    }
  });

  test("keeps nulls, numbers, booleans and dates", async () => {
    const now = new Date("2026-01-02T03:04:05.678Z");
    const statement = raw`select ${null}::text as a, ${1.5}::float8 as b, ${true}::bool as c, ${now}::timestamptz as d,
      ${[1, 2]}::int[] as e`;
    const { rows } = await raw
      .raw(inlineParameters(database.database.sql, statement))
      .execute(database.database.sql);
    expect(rows).toEqual([{ a: null, b: 1.5, c: true, d: now, e: [1, 2] }]);
  });
});
