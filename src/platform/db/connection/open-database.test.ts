import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { waitUntil } from "../../../../tests/support/components/wait-until.ts";
import { createTestDatabase, type TestDatabase } from "../../../../tests/support/database.ts";
import { runOn } from "../../../../tests/support/postgres.ts";
import { createLogger } from "../../logger.ts";
import { raw } from "../raw.ts";
import { openDatabase } from "./open-database.ts";
import { waitForDatabase } from "./wait-for-database.ts";

const logger = createLogger({ level: "silent" });
const unnamed = (text: string) => ({ name: "", text });
let test: TestDatabase;

beforeAll(async () => {
  test = await createTestDatabase({ poolSize: 4 });
  await test.database.query(unnamed("create table notes (id integer primary key, body text)"), []);
});
afterAll(() => test.drop());

const backendPids = async () => {
  const text =
    "select pid from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()";
  return (await test.database.query<{ pid: number }>(unnamed(text), [])).map((row) => row.pid);
};

describe("values", () => {
  it("come as numbers, dates and text that lose nothing", async () => {
    const [row] = await test.database.query(
      unnamed(`select 9007199254740991::int8 as safe, 9007199254740993::int8 as large, array[1, 2]::int8[] as many,
        '2024-02-29'::date as day, '2024-02-29 12:00+02'::timestamptz as moment, 1.10::numeric as price,
        '{"a": [1]}'::jsonb as json, '\\x00ff'::bytea as bytes, array['x', null] as names`),
      [],
    );
    expect(row).toEqual({
      safe: 9007199254740991,
      large: "9007199254740993",
      many: [1, 2],
      day: "2024-02-29",
      moment: new Date("2024-02-29T10:00:00Z"),
      price: "1.10",
      json: { a: [1] },
      bytes: Buffer.from([0, 255]),
      names: ["x", null],
    });
  });
});

describe("an idle process", () => {
  it("does what recurs on the connection it listens on, and holds no other", async () => {
    const idle = openDatabase({
      url: test.url,
      poolSize: 4,
      logger,
      applicationName: "idle",
      idleTimeoutMs: 50,
    });
    const pid = unnamed("select pg_backend_pid() as pid");
    const held = unnamed(
      "select count(*)::int as count from pg_stat_activity where application_name = 'idle'",
    );
    try {
      const before = await idle.background<{ pid: number }>(pid, []);
      await idle.listen("idle_channel", () => {});
      const [first] = await idle.background<{ pid: number }>(pid, []);
      expect(first).not.toEqual(before[0]);
      await waitUntil(() => idle.poolStats().total === 0, {
        what: "the pool to be empty",
        timeoutMs: 10_000,
      });
      for (let round = 0; round < 5; round += 1) expect(await idle.background(pid, [])).toEqual([first]);
      expect(await test.database.query(held, [])).toEqual([{ count: 1 }]);
      // When the connection is cut, it continues over the pool.
      await test.database.query(unnamed(`select pg_terminate_backend(${first!.pid})`), []);
      expect(await idle.background(unnamed("select 1 as one"), [])).toEqual([{ one: 1 }]);
      await expect(idle.background(unnamed("select wrong"), [])).rejects.toThrow();
    } finally {
      await idle.close();
    }
  });
});

describe("statements", () => {
  it("are prepared once per connection under their name", async () => {
    const single = openDatabase({ url: test.url, poolSize: 1, logger });
    try {
      const statement = { name: "add_v1", text: "select $1::integer + 1 as sum" };
      for (const value of [1, 2, 3])
        expect(await single.query(statement, [value])).toEqual([{ sum: value + 1 }]);
      const prepared = unnamed("select count(*) as count from pg_prepared_statements where name = 'add_v1'");
      expect(await single.query(prepared, [])).toEqual([{ count: 1 }]);
    } finally {
      await single.close();
    }
  });

  it("that fail leave the connection in the pool, and their error as Postgres gave it", async () => {
    const single = openDatabase({ url: test.url, poolSize: 1, logger });
    try {
      const pid = unnamed("select pg_backend_pid() as pid");
      const before = await single.query(pid, []);
      await expect(single.query(unnamed("select 1/0"), [])).rejects.toMatchObject({ code: "22012" });
      expect(await single.query(pid, [])).toEqual(before);
    } finally {
      await single.close();
    }
  });
});

describe("transactions", () => {
  it("commit what they did, or nothing", async () => {
    const { database } = test;
    await database.transaction((tx) => raw`insert into notes values (1, 'kept')`.execute(tx));
    const failing = database.transaction(async (tx) => {
      await raw`insert into notes values (2, 'lost')`.execute(tx);
      throw new Error("changed my mind");
    });
    await expect(failing).rejects.toThrow("changed my mind");
    expect(await database.query(unnamed("select id from notes"), [])).toEqual([{ id: 1 }]);
  });

  it("whose connection is cut answer `database.unavailable`, and the pool goes on", async () => {
    const { database } = test;
    const cut = database.transaction(async (tx) => {
      const { rows } = await raw<{ pid: number }>`select pg_backend_pid() as pid`.execute(tx);
      await runOn(test.url, `select pg_terminate_backend(${rows[0]?.pid})`);
      await raw`select 1`.execute(tx);
    });
    await expect(cut).rejects.toMatchObject({
      code: "database.unavailable",
      kind: "unavailable",
      retryable: true,
    });
    await database.ping();
  });
});

describe("a table that a newer version changes meanwhile", () => {
  it("fails no statement that was prepared before, on whichever connection", async () => {
    const database = openDatabase({ url: test.url, poolSize: 3, logger });
    const statement = { name: "changed_v1", text: "select * from changed, pg_sleep(0.05)" };
    const three = () => Promise.all([1, 2, 3].map(() => database.query(statement, [])));
    await runOn(test.url, "create table changed (a integer)");
    await runOn(test.url, "insert into changed values (1)");
    const before = { a: 1, pg_sleep: "" };
    expect(await three()).toEqual([[before], [before], [before]]);
    expect(database.poolStats().total).toBe(3);
    await runOn(test.url, "alter table changed add column b integer");
    const after = { a: 1, b: null, pg_sleep: "" };
    expect(await three()).toEqual([[after], [after], [after]]);
    await database.close();
  });
});

describe("notifications", () => {
  it("reach every subscriber of the channel until it leaves", async () => {
    const { database } = test;
    const heard: string[] = [];
    const done = Promise.withResolvers<void>();
    const leave = await database.listen("News Of The Day", (payload) => heard.push(`first ${payload}`));
    const stay = await database.listen("News Of The Day", (payload) => {
      heard.push(`second ${payload}`);
      if (payload === "b") done.resolve();
    });
    await database.notify("News Of The Day", "a");
    await expect.poll(() => heard.length).toBe(2);
    await leave();
    await database.notify("News Of The Day", "b");
    await done.promise;
    expect(heard).toEqual(["first a", "second a", "second b"]);
    await stay();
  });

  it("say that there was a gap after the connection was cut, and go on", async () => {
    const { database } = test;
    const gap = Promise.withResolvers<void>();
    const message = Promise.withResolvers<string>();
    const leave = await database.listen("cut", message.resolve, gap.resolve);
    for (const pid of await backendPids()) await runOn(test.url, `select pg_terminate_backend(${pid})`);
    await gap.promise;
    await database.notify("cut", "again");
    expect(await message.promise).toBe("again");
    await leave();
  });
});

describe("a database that is not there", () => {
  it("is reported with its place and what to check, never with the password", async () => {
    // Port 1 is reserved and refuses on any machine; the test needs a port that stays closed.
    const database = openDatabase({ url: "postgres://me:hunter2@127.0.0.1:1/db", poolSize: 1, logger });
    const error = await database.ping().catch((reason: unknown) => reason);
    expect(error).toMatchObject({ code: "database.unavailable", retryable: true });
    expect(String(error)).toContain("127.0.0.1:1/db");
    expect(String(error)).not.toContain("hunter2");
    await expect(waitForDatabase(() => database.ping(), { timeoutMs: 200, logger })).rejects.toMatchObject({
      code: "database.unavailable",
    });
    await expect(database.listen("x", () => {})).rejects.toMatchObject({ code: "database.unavailable" });
    await database.close();
  });

  it("is not waited for when it refuses", async () => {
    const url = new URL(test.url);
    url.pathname = "/no_such_database";
    const database = openDatabase({ url: url.href, poolSize: 1, logger });
    await expect(waitForDatabase(() => database.ping(), { timeoutMs: 60_000, logger })).rejects.toMatchObject(
      {
        code: "database.refused",
        retryable: false,
      },
    );
    await database.close();
  });
});
