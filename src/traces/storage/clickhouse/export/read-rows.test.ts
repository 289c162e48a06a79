import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { startClickHouse } from "../../../../../tests/support/components/clickhouse.ts";
import { clickHouseStartLimitMs } from "../../../../../tests/support/components/clickhouse-library.ts";
import { ClickHouse } from "../../../../platform/clickhouse/clickhouse.ts";
import { readRows } from "./read-rows.ts";

let server: Awaited<ReturnType<typeof startClickHouse>>;
let url: string;
let clickHouse: ClickHouse;
beforeAll(async () => {
  server = await startClickHouse();
  url = await server.createDatabase();
  clickHouse = await ClickHouse.open({ url });
}, clickHouseStartLimitMs);
afterAll(async () => {
  await clickHouse?.close();
  await server?.stop();
});

const never = new AbortController().signal;
const given = (select: string) => ({
  ...{ url, select, databaseUrl: "", workspaceId: randomUUID(), feedback: [] },
  fields: ["timestamp", "uuid", "text"] as const,
});
/** Rows of a thousand bytes each; without end enough for the test. */
const rowsOf = (
  last: string,
) => `select cast(toDateTime64('2024-02-29 00:00:00.000001', 6, 'UTC') + number, 'Nullable(DateTime64(6, \\'UTC\\'))'),
  cast(generateUUIDv4(), 'Nullable(UUID)'), cast(repeat('x', 1000), 'Nullable(String)') from (${last}) format RowBinary`;

/** Of queries that read them. */
async function countReading(): Promise<number> {
  const [found] = await clickHouse.rows<{ n: number }>(
    "select count() as n from system.processes where query like '%repeat(%format RowBinary%' and query not like '%system.processes%'",
  );
  return found!.n;
}

describe("rows of ClickHouse", { timeout: 120_000 }, () => {
  test("come one by one in the form of a COPY", async () => {
    const sizes = new Set<number>();
    const onRow = (source: Buffer, start: number, end: number) => {
      sizes.add(end - start);
      expect(source.readInt16BE(start)).toBe(3);
    };
    expect(await readRows(given(rowsOf("select number from numbers(5000)")), { onRow, signal: never })).toBe(
      5_000,
    );
    // The number of fields, then a time, an id and a text, each behind its length.
    expect([...sizes]).toEqual([2 + 12 + 20 + 1_004]);
  });

  test("are no whole result when the query fails after the first of them", async () => {
    let rows = 0;
    const onRow = (source: Buffer, start: number, end: number) => {
      rows += 1;
      // What the server says about the failure is never taken for a row.
      expect(source.subarray(end - 1_000, end).equals(Buffer.alloc(1_000, "x"))).toBe(true);
      expect(start).toBe(0);
    };
    const failing = rowsOf(
      "select number from numbers(1000000) where throwIf(number = 300000, 'no more') = 0 settings max_threads = 1, max_block_size = 1000",
    );
    await expect(readRows(given(failing), { onRow, signal: never })).rejects.toMatchObject({ code: "395" });
    expect(rows).toBeGreaterThan(0);
    expect(rows).toBeLessThan(300_000);
  });

  test("wait at the server while the writer takes none, and end there with their reader", async () => {
    const stopping = new AbortController();
    let rows = 0;
    const paused = Promise.withResolvers<void>();
    const reading = readRows(given(rowsOf("select number from numbers(100000000)")), {
      onStart: (flow) => flow.pause(),
      onRow: () => {
        rows += 1;
        paused.resolve();
      },
      signal: stopping.signal,
    });
    reading.catch(() => {});
    await paused.promise;
    await expect.poll(countReading, { timeout: 60_000 }).toBe(1);
    // A batch, and no more of the hundred gigabytes than that.
    expect(rows).toBeLessThan(5_000);
    stopping.abort(new Error("not needed"));
    await expect(reading).rejects.toThrow("not needed");
    await expect.poll(countReading, { timeout: 60_000 }).toBe(0);
  });

  test("are ours to try again when the server goes away between them", async () => {
    const killed = Promise.withResolvers<void>();
    const lost = readRows(given(rowsOf("select number from numbers(100000000)")), {
      onRow: () => void killed.resolve(),
      signal: never,
    });
    lost.catch(() => {});
    await killed.promise;
    await server.kill();
    await expect(lost).rejects.toMatchObject({ code: "database.unavailable" });
    await server.restart();
  });
});
