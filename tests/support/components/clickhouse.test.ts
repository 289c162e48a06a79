import { type ClickHouseClient, ClickHouseError, ClickHouseLogLevel, createClient } from "@clickhouse/client";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type ClickHouse, startClickHouse } from "./clickhouse.ts";
import { clickHouseStartLimitMs } from "./clickhouse-library.ts";
import { isRunning, processesNaming } from "./process-table.ts";

let clickHouse: ClickHouse;
let client: ClickHouseClient;

// The first run on a machine fetches it.
beforeAll(async () => {
  clickHouse = await startClickHouse();
  client = createClient({
    url: await clickHouse.createDatabase(),
    compression: { request: true, response: true },
    log: { level: ClickHouseLogLevel.OFF },
  });
  await client.command({
    query:
      "create table things (id UInt64, name String, at DateTime64(6, 'UTC')) engine = MergeTree order by id",
  });
}, clickHouseStartLimitMs);
afterAll(async () => {
  await client?.close();
  await clickHouse?.stop();
});

const rowsOf = async (query: string, params: Record<string, unknown> = {}) =>
  await (await client.query({ query, query_params: params, format: "JSONEachRow" })).json<unknown>();

describe("ClickHouse for tests", () => {
  it("stores rows, tells how many, and finds them by bound values", async () => {
    const values = [
      { id: 1, name: "a 'quoted' \\ name\nof two lines", at: "2026-01-02 03:04:05.678901" },
      { id: 2, name: "Straße", at: "1969-07-20 20:17:40.000000" },
    ];
    const inserted = await client.insert({ table: "things", values, format: "JSONEachRow" });
    expect(inserted.summary).toMatchObject({ written_rows: "2" });
    for (const each of values)
      expect(await rowsOf("select * from things where name = {name: String}", { name: each.name })).toEqual([
        each,
      ]);
    expect(
      await rowsOf("select id from things where id in {ids: Array(UInt64)} order by id desc", {
        ids: [1, 2],
      }),
    ).toEqual([{ id: 2 }, { id: 1 }]);
  });

  it("tells the code of an error", async () => {
    const refused = await rowsOf("select missing from things").catch((error: unknown) => error);
    expect(refused).toBeInstanceOf(ClickHouseError);
    expect(refused).toMatchObject({ code: "47", type: "UNKNOWN_IDENTIFIER" });
    const unparsable = await client
      .insert({ table: "things", values: [{ id: "no number" }], format: "JSONEachRow" })
      .catch((error: unknown) => error);
    expect(unparsable).toBeInstanceOf(ClickHouseError);
  });

  it("runs queries side by side, and cancels one of them", async () => {
    const endless = client.query({
      query: "select count() from numbers(1000000000000) where sipHash64(number) = 1",
      query_id: "endless",
    });
    const cancelled = expect(endless).rejects.toMatchObject({ code: "394", type: "QUERY_WAS_CANCELLED" });
    const running = "select query_id from system.processes where query_id = 'endless'";
    await expect.poll(() => rowsOf(running)).toEqual([{ query_id: "endless" }]);
    const counts = await Promise.all(
      [10, 20, 30].map((n) => rowsOf("select toUInt32(count()) as n from numbers({n: UInt64})", { n })),
    );
    expect(counts).toEqual([[{ n: 10 }], [{ n: 20 }], [{ n: 30 }]]);
    await client.command({ query: "kill query where query_id = 'endless' sync" });
    await cancelled;
    expect(await rowsOf(running)).toEqual([]);
  });

  it("keeps settings and temporary tables of a session", async () => {
    const session_id = "of-this-test";
    await client.command({ query: "create temporary table kept (a UInt8)", session_id });
    await client.command({ query: "insert into kept values (7)", session_id });
    const found = await client.query({ query: "select a from kept", session_id, format: "JSONEachRow" });
    expect(await found.json()).toEqual([{ a: 7 }]);
  });

  it.skipIf(process.env.TREADLE_TEST_CLICKHOUSE_URL)(
    "has after a kill every row that it acknowledged",
    async () => {
      await client.command({ query: "create table kept (id UInt64) engine = MergeTree order by id" });
      let acknowledged = 0;
      const writers = [0, 1, 2, 3].map(async (writer) => {
        for (let n = 0; ; n += 1) {
          const values = [{ id: n * 4 + writer }];
          const settings = writer % 2 ? ({ async_insert: 1, wait_for_async_insert: 1 } as const) : {};
          try {
            await client.insert({
              table: "kept",
              values,
              format: "JSONEachRow",
              clickhouse_settings: settings,
            });
          } catch {
            return n; // so many of this writer were acknowledged
          }
          acknowledged += 1;
        }
      });
      await expect.poll(() => acknowledged).toBeGreaterThan(20);
      await clickHouse.kill();
      const counts = await Promise.all(writers);
      await clickHouse.restart();
      const stored = new Set(((await rowsOf("select id from kept")) as { id: number }[]).map(({ id }) => id));
      for (const [writer, count] of counts.entries())
        for (let n = 0; n < count; n += 1) expect(stored).toContain(n * 4 + writer);
    },
  );

  it.skipIf(process.env.TREADLE_TEST_CLICKHOUSE_URL)("leaves no process behind", async () => {
    const another = await startClickHouse();
    const port = new URL(another.origin).port;
    const processes = processesNaming(`--http_port=${port}`);
    expect(processes).not.toEqual([]);
    await another.stop();
    expect(processes.filter(isRunning)).toEqual([]);
  });
});
