import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { type ClickHouse as Server, startClickHouse } from "../../../tests/support/components/clickhouse.ts";
import { clickHouseStartLimitMs } from "../../../tests/support/components/clickhouse-library.ts";
import { createLogger } from "../logger.ts";
import { migrationsFolder } from "../package-facts.ts";
import { ClickHouse } from "./clickhouse.ts";
import { migrateClickHouse } from "./migrate-clickhouse.ts";

const logger = createLogger({ level: "silent" });
let server: Server;
let directory: string;
let clickHouse: ClickHouse;

// The first run on a machine fetches it.
beforeAll(async () => {
  server = await startClickHouse();
}, clickHouseStartLimitMs);
afterAll(() => server?.stop());
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), "treadle-migrations-"));
  clickHouse = await ClickHouse.open({ url: await server.createDatabase() });
});
afterEach(async () => {
  await clickHouse.close();
  await rm(directory, { recursive: true });
});

const file = (name: string, text: string) => writeFile(join(directory, name), text);
const created = "create table if not exists a (b UInt32) engine = MergeTree order by b;\n";
let last: Promise<unknown> = Promise.resolve();
/** One after the other. */
function exclusively<T>(work: () => Promise<T>): Promise<T> {
  const mine = last.then(work);
  last = mine.catch(() => undefined);
  return mine;
}
const run = (from = directory) => migrateClickHouse({ clickHouse, directory: from, logger, exclusively });

describe("migrations of ClickHouse", () => {
  it("are applied in order, once, whoever starts first", async () => {
    await file(
      "0002_second.sql",
      "-- adds; a column\nalter table a add column if not exists c String default 'x';\n",
    );
    await file("0001_first.sql", `${created}create view if not exists v as select b from a;\n`);
    const outcomes = await Promise.all([run(), run(), run()]);
    expect(outcomes.flatMap(({ applied }) => applied)).toEqual(["0001_first.sql", "0002_second.sql"]);
    await clickHouse.insert("a", [{ b: 1 }]);
    expect(await clickHouse.rows("select * from a")).toEqual([{ b: 1, c: "x" }]);
    await file("0003_third.sql", "drop view if exists v;");
    expect(await run()).toEqual({ applied: ["0003_third.sql"] });
  });

  it("that were interrupted begin again", async () => {
    await file("0001_first.sql", `${created}create table if not exists d (e Nonsense) engine = Memory;\n`);
    await expect(run()).rejects.toMatchObject({
      code: "migration.failed",
      message: expect.stringContaining("0001_first.sql"),
    });
    await file("0001_first.sql", `${created}create table if not exists d (e UInt8) engine = Memory;\n`);
    expect(await run()).toEqual({ applied: ["0001_first.sql"] });
  });

  it("must be statements that may be repeated", async () => {
    await file("0001_first.sql", `${created}insert into a values (1);\n`);
    await expect(run()).rejects.toMatchObject({
      code: "migration.failed",
      message: expect.stringMatching(/was not begun.*"insert into a/),
    });
    expect(await clickHouse.rows("exists table a")).toEqual([{ result: 0 }]);
  });

  it("are refused where one was edited, or is of a newer version", async () => {
    await file("0001_first.sql", created);
    await run();
    await file("0001_first.sql", `${created}-- edited\n`);
    await expect(run()).rejects.toMatchObject({ code: "migration.changed" });
    await file("0001_first.sql", created);
    const newer = { version: 7, name: "0007_later.sql", checksum: "c", oldest_code: 7 };
    await clickHouse.insert("schema_migrations", [newer]);
    await expect(run()).rejects.toMatchObject({ code: "migration.newer" });
    await clickHouse.run("truncate table schema_migrations");
    await run();
    // One that says this code can run on it.
    await clickHouse.insert("schema_migrations", [{ ...newer, oldest_code: 1 }]);
    expect(await run()).toEqual({ applied: [] });
  });

  it("of the project make what the store of runs needs", async () => {
    const { applied } = await run(join(migrationsFolder, "clickhouse"));
    expect(applied.length).toBeGreaterThan(0);
    const tables = await clickHouse.rows(
      "select name, engine from system.tables where database = currentDatabase() order by name",
    );
    expect(tables).toMatchInlineSnapshot(`
      [
        {
          "engine": "MergeTree",
          "name": "schema_migrations",
        },
        {
          "engine": "ReplacingMergeTree",
          "name": "trace_feedback",
        },
        {
          "engine": "ReplacingMergeTree",
          "name": "trace_run_ids",
        },
        {
          "engine": "CoalescingMergeTree",
          "name": "trace_runs",
        },
      ]
    `);
  });
});

describe("the table of runs", () => {
  beforeEach(() => run(join(migrationsFolder, "clickhouse")));

  const key = {
    workspace_id: "00000000-0000-4000-8000-000000000001",
    project_id: "00000000-0000-4000-8000-000000000002",
    start_time: "2026-01-02 03:04:05.678901",
    id: "00000000-0000-4000-8000-000000000003",
  };
  const narrow = { trace_id: key.id, is_root: true, name: "agent", run_type: "chain", dotted_order: "a" };
  const posted = {
    ...{
      ...key,
      ...narrow,
      status: "error",
      tags: ["a"],
      inputs: '{"q":"Straße"}',
      failure: ["broken"],
    },
    ...{ ended: ["2026-01-02 03:04:06"], costs: [null, null, "0.000000000000000001"] },
  };
  const shown = () =>
    clickHouse.rows(
      "select status, tags, error, end_time, toString(total_cost) as total_cost, inputs, outputs, parent_run_id from trace_runs final",
    );

  it("shows a run with all its changes at once, and after they were merged", async () => {
    await clickHouse.insert("trace_runs", [posted]);
    expect(await shown()).toEqual([
      {
        ...{ status: "error", tags: ["a"], error: "broken", end_time: "2026-01-02 03:04:06.000000" },
        ...{ total_cost: "0.000000000000000001", inputs: posted.inputs, outputs: null, parent_run_id: null },
      },
    ]);
    // What is null or empty now has been taken back; a payload that is not there has not changed.
    const resumed = { ...key, ...narrow, status: "success", tags: [], outputs: "{}" };
    await clickHouse.insert("trace_runs", [{ ...resumed, failure: [], ended: [], costs: [] }]);
    const expected = [
      {
        ...{ status: "success", tags: [], error: null, end_time: null, total_cost: null },
        ...{ inputs: posted.inputs, outputs: "{}", parent_run_id: null },
      },
    ];
    expect(await shown()).toEqual(expected);
    await clickHouse.run("optimize table trace_runs final");
    expect(await shown()).toEqual(expected);
  });

  it("finds words in any letter case, whole or in part, also in what only an earlier row has", async () => {
    await clickHouse.insert("trace_runs", [posted]);
    await clickHouse.insert("trace_runs", [
      { ...key, ...narrow, status: "success", outputs: '"Über Nacht"' },
    ]);
    const found = (column: string, pattern: string) =>
      clickHouse.rows(
        `select id from trace_runs final where lowerUTF8(${column}) like {pattern: String} settings force_data_skipping_indices = 'words_of_${column}'`,
        { params: { pattern } },
      );
    expect(await found("inputs", "%straße%")).toEqual([{ id: key.id }]);
    expect(await found("inputs", "%traß%")).toEqual([{ id: key.id }]);
    expect(await found("inputs", "%strasse%")).toEqual([]);
    expect(await found("error", "%roke%")).toEqual([]);
    expect(await found("outputs", "%über na%")).toEqual([{ id: key.id }]);
  });
});

describe("statements of ClickHouse", () => {
  it("have stored what they insert, whatever the server is told to put off", async () => {
    // The embedded server puts nothing off, so the row itself says what it was told.
    await clickHouse.run(
      "create table kept (a UInt32, put_off Bool default getSetting('async_insert')) engine = MergeTree order by a",
    );
    const [database] = await clickHouse.rows<{ name: string }>("select currentDatabase() as name");
    // As the profile of a user would: nothing is written for ten minutes, and nobody waits for it.
    const putOff = new URL(database!.name, server.origin);
    for (const [name, value] of Object.entries({
      ...{ async_insert: 1, wait_for_async_insert: 0, async_insert_use_adaptive_busy_timeout: 0 },
      async_insert_busy_timeout_max_ms: 600_000,
    }))
      putOff.searchParams.set(`clickhouse_setting_${name}`, String(value));
    const late = await ClickHouse.open({ url: putOff.href });
    await late.insert("kept", [{ a: 1 }]);
    expect(await late.rows("select a, put_off from kept")).toEqual([{ a: 1, put_off: false }]);
    await late.close();
  });

  it("take parameters that no URL could hold", async () => {
    const params = Object.fromEntries(
      Array.from({ length: 40 }, (_, n) => [`p${n}`, String(n).repeat(50_000)]),
    );
    const length = Object.keys(params).map((name) => `length({${name}: String})`);
    expect(await clickHouse.rows(`select ${length.join(" + ")} as n`, { params })).toEqual([
      { n: 3_500_000 },
    ]);
  });
});

describe("failures of ClickHouse", () => {
  it("say whose they are", async () => {
    await expect(clickHouse.rows("select nope")).rejects.toMatchObject({ code: "47" });
    const absent = await ClickHouse.open({ url: "http://127.0.0.1:1/x" });
    await expect(absent.rows("select 1")).rejects.toMatchObject({
      code: "database.unavailable",
      retryable: true,
      message: expect.stringContaining("127.0.0.1:1/x"),
    });
    const wrong = await ClickHouse.open({ url: `${server.origin}/not_there` });
    await expect(wrong.rows("select 1")).rejects.toMatchObject({
      code: "database.refused",
      retryable: false,
    });
    await expect(
      clickHouse.rows("select count() from numbers(1e13) where sipHash64(number) = 1", {
        settings: { max_execution_time: 0.1 },
      }),
    ).rejects.toMatchObject({ code: "database.strained", retryable: true });
    const controller = new AbortController();
    const stopped = clickHouse.rows("select count() from numbers(1e13) where sipHash64(number) = 2", {
      signal: controller.signal,
    });
    const reason = new Error("nobody waits for it any more");
    const refused = expect(stopped).rejects.toBe(reason);
    const running =
      "select count() as n from system.processes where query like '%= 2%' and query not like '%processes%'";
    await expect.poll(() => clickHouse.rows(running)).toEqual([{ n: 1 }]);
    controller.abort(reason);
    await refused;
    await expect.poll(() => clickHouse.rows(running)).toEqual([{ n: 0 }]);
    await Promise.all([absent.close(), wrong.close()]);
  });
});
