import { copyFile, mkdtemp, rm, writeFile } from "node:fs/promises";
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

  it("that make tables as a new database has them come first there, and change none that are made", async () => {
    const shaped = `-- first in a new database\n${created.replace("order by b", "order by b settings index_granularity = 7")}`;
    const blocks = async () =>
      (
        await clickHouse.rows<{ query: string }>(
          "select create_table_query as query from system.tables where name = 'a' and database = currentDatabase()",
        )
      )[0]!.query;
    await file("0001_first.sql", created);
    await file("0002_added.sql", "alter table a add column if not exists c String;");
    const names = ["0001_first.sql", "0002_added.sql", "0003_shape.sql"];
    await file("0003_shape.sql", `${shaped}create table if not exists d (e Nonsense) engine = Memory;\n`);
    // Cut short before any is noted: begun again as new.
    await expect(run()).rejects.toMatchObject({ code: "migration.failed" });
    await file("0003_shape.sql", shaped);
    expect(await run()).toEqual({ applied: names });
    expect(await blocks()).toMatch(/`c` String.*index_granularity = 7/);
    const other = await ClickHouse.open({ url: await server.createDatabase() });
    await clickHouse.close();
    clickHouse = other;
    await rm(join(directory, "0003_shape.sql"));
    await run();
    await clickHouse.insert("a", [{ b: 1, c: "kept" }]);
    await file("0003_shape.sql", shaped);
    expect(await run()).toEqual({ applied: names.slice(2) });
    expect(await blocks()).not.toContain("= 7");
    expect(await clickHouse.rows("select * from a")).toEqual([{ b: 1, c: "kept" }]);
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
          "engine": "MergeTree",
          "name": "trace_feedback_marks",
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
  const migrations = join(migrationsFolder, "clickhouse");

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

  it("is the same in a new database as in one that was made before, but for its blocks", async () => {
    const shape = async () => ({
      columns: await clickHouse.rows(
        "select * except (database, table, data_compressed_bytes, data_uncompressed_bytes, marks_bytes) from system.columns where table = 'trace_runs' and database = currentDatabase() order by position",
      ),
      indexes: await clickHouse.rows(
        "select name, expr, type_full from system.data_skipping_indices where table = 'trace_runs' and database = currentDatabase() and name != 'words_of_error' order by name",
      ),
      table: (
        await clickHouse.rows<{ engine_full: string }>(
          "select engine_full from system.tables where name = 'trace_runs' and database = currentDatabase()",
        )
      )[0]!.engine_full,
    });
    await run(migrations);
    const made = await shape();
    expect(made.table).toContain("index_granularity_bytes = 4194304");
    const before = await ClickHouse.open({ url: await server.createDatabase() });
    await clickHouse.close();
    clickHouse = before;
    for (const name of ["0001_runs.sql", "0002_feedback.sql", "0003_error_text.sql"])
      await copyFile(join(migrations, name), join(directory, name));
    await run();
    await run(migrations);
    const kept = await shape();
    expect(kept.table).not.toContain("index_granularity_bytes");
    expect({ ...made, table: "" }).toEqual({ ...kept, table: "" });
    expect(made.table.replace(", index_granularity_bytes = 4194304", "")).toBe(kept.table);
  });

  it("shows a run with all its changes at once, and after they were merged", async () => {
    await run(migrations);
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
    await run(migrations);
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
    expect(await found("error_text", "%roke%")).toEqual([]);
    expect(await found("outputs", "%über na%")).toEqual([{ id: key.id }]);
  });

  it("finds words in some rows that are indexed, and in some that are not and have no text", async () => {
    await run(migrations);
    await clickHouse.run("system stop merges trace_runs");
    await clickHouse.insert("trace_runs", [{ ...posted, inputs: '"Broken pipe"' }]);
    await clickHouse.run(
      `insert into trace_runs (* except (inputs)) select * except (inputs) from trace_runs
        settings exclude_materialize_skip_indexes_on_insert = 'words_of_inputs'`,
    );
    const isFound = "lowerUTF8(inputs) like '%pipe%'";
    for (const condition of [isFound, `ifNull(${isFound}, false)`])
      expect(await clickHouse.rows(`select id from trace_runs final where ${condition}`)).toEqual([
        { id: key.id },
      ]);
  });

  it("has the errors of runs that were written before their texts stood apart", async () => {
    for (const name of ["0001_runs.sql", "0002_feedback.sql"])
      await copyFile(join(migrations, name), join(directory, name));
    await run();
    await clickHouse.run("system stop merges trace_runs");
    const [kept, back, empty, none, again] = Array.from({ length: 5 }, (_, n) => ({
      ...{ ...key, ...narrow },
      id: `00000000-0000-4000-8000-00000000001${n}`,
    }));
    const asBefore = (run: object, ...failure: string[]) =>
      clickHouse.insert("trace_runs", [{ ...run, failure }]);
    for (const each of [kept, back, again]) await asBefore(each!, "Broken pipe");
    await asBefore(empty!, "");
    for (const each of [back, again, none]) await asBefore(each!);
    expect((await run(migrations)).applied).toContain("0003_error_text.sql");
    const errors = async () =>
      (await clickHouse.rows<{ error: string }>("select error from trace_runs final order by id")).map(
        ({ error }) => error,
      );
    const found = async () =>
      (
        await clickHouse.rows<{ id: string }>(
          `select id from trace_runs final where lowerUTF8(error_text) like '%pipe%' order by id
            settings force_data_skipping_indices = 'words_of_error_text'`,
        )
      ).map(({ id }) => id);
    expect(await errors()).toEqual(["Broken pipe", null, "", null, null]);
    expect(await found()).toEqual([kept!.id]);
    // Written again without their texts, and one by a server that does not know of these.
    const marked = [kept, empty].map((each) => ({ ...each, failure: [""], error_text: null }));
    await clickHouse.insert("trace_runs", [...marked, { ...back, failure: [], error_text: null }]);
    await asBefore(kept!, "");
    await asBefore(again!, "Other pipe");
    for (const merge of [false, true]) {
      if (merge) {
        await clickHouse.run("system start merges trace_runs");
        await clickHouse.run("optimize table trace_runs final");
      }
      expect(await errors()).toEqual(["Broken pipe", null, "", null, "Other pipe"]);
      expect(await found()).toEqual([kept!.id, again!.id]);
    }
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
