import { mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import pg from "pg";
import { afterEach, beforeEach, describe, expect, inject, it } from "vitest";
import { runOn, withDatabase } from "../../../../tests/support/postgres.ts";
import { createLogger } from "../../logger.ts";
import { migrationsFolder } from "../../package-facts.ts";
import { migrate } from "./migrate.ts";

const logger = createLogger({ level: "silent" });
const lockTimeoutMs = 300;
let directory: string;
let url: string;
let name: string;
const clients: pg.Client[] = [];

beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), "treadle-migrations-"));
  name = `${inject("templateDatabase")}_l${process.pid}`;
  await runOn(inject("postgresUrl"), `create database ${name}`);
  url = withDatabase(inject("postgresUrl"), name);
  await file("0001_first.sql", "create table a (b integer); insert into a select generate_series(1, 1000);");
  await run();
});
afterEach(async () => {
  for (const client of clients.splice(0)) await client.end();
  await runOn(inject("postgresUrl"), `drop database ${name} with (force)`);
  await rm(directory, { recursive: true });
});

const file = (fileName: string, text: string) => writeFile(join(directory, fileName), text);
const run = (patience = {}) => migrate({ url, directory, logger, patience: { lockTimeoutMs, ...patience } });

async function connect(): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: url, application_name: "somebody" });
  client.on("error", () => {});
  await client.connect();
  clients.push(client);
  return client;
}

const waiting = async (client: pg.Client, kind: string) =>
  (
    await client.query(
      "select 1 from pg_stat_activity where application_name = 'treadle migrate' and wait_event_type = 'Lock' and wait_event = $1",
      [kind],
    )
  ).rows.length;

describe("a migration of a table that a long transaction uses", () => {
  it("holds up no request for longer than a moment, and is applied once that has ended", async () => {
    await file("0002_second.sql", "alter table a add column c text;");
    const [holder, requests, looker] = [await connect(), await connect(), await connect()];
    await holder.query("begin; select count(*) from a");
    const migrating = run();
    await expect.poll(() => waiting(looker, "relation"), { timeout: 10_000, interval: 5 }).toBe(1);
    // From here on requests queue behind the migration; each must get through by its giving up.
    let longest = 0;
    let answered = 0;
    const until = performance.now() + 2_500;
    while (performance.now() < until) {
      const begun = performance.now();
      expect((await requests.query("select b from a where b = 1")).rows).toEqual([{ b: 1 }]);
      longest = Math.max(longest, performance.now() - begun);
      answered += 1;
    }
    expect(answered).toBeGreaterThan(2);
    expect(longest).toBeLessThan(lockTimeoutMs + 1_000);
    expect((await requests.query("select * from a where b = 1")).rows).toEqual([{ b: 1 }]);
    await holder.query("commit");
    expect(await migrating).toEqual({ applied: ["0002_second.sql"] });
    expect((await requests.query("select * from a where b = 1")).rows).toEqual([{ b: 1, c: null }]);
  });

  it("is given up in the end, and names who is in the way", async () => {
    await file("0002_second.sql", "alter table a add column c text;");
    const holder = await connect();
    await holder.query("begin; select count(*) from a");
    await expect(run({ blockedMs: 1_500 })).rejects.toMatchObject({
      code: "migration.blocked",
      message: expect.stringMatching(/0002_second\.sql.* somebody \(process \d+, for \d+ s\)/),
    });
  });
});

describe("indexes made concurrently", () => {
  const index = "-- concurrently\ncreate index concurrently if not exists a_b on a (b);\n";

  it("hold up no write while they wait for an open transaction", async () => {
    await file("0002_index.sql", index);
    const [holder, writer, looker] = [await connect(), await connect(), await connect()];
    await holder.query("begin; insert into a values (0)");
    const migrating = run();
    await expect.poll(() => waiting(looker, "virtualxid"), { timeout: 10_000, interval: 5 }).toBe(1);
    await writer.query("set statement_timeout = '5s'; insert into a values (1001)");
    // A second process that starts meanwhile must not be waited for by the index, nor wait for ever.
    const second = run();
    await holder.query("commit");
    expect(await migrating).toEqual({ applied: ["0002_index.sql"] });
    expect(await second).toEqual({ applied: [] });
  });

  it("that a kill left behind are dropped and made again", async () => {
    await file("0002_index.sql", index);
    const [holder, looker] = [await connect(), await connect()];
    await holder.query("begin; insert into a values (0)");
    const killed = run();
    const refused = expect(killed).rejects.toMatchObject({ code: "migration.failed" });
    await expect.poll(() => waiting(looker, "virtualxid"), { timeout: 10_000, interval: 5 }).toBe(1);
    await looker.query(
      "select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and application_name = 'treadle migrate'",
    );
    await refused;
    const valid = async () =>
      (await looker.query("select indisvalid from pg_index where indexrelid = 'a_b'::regclass")).rows;
    expect(await valid()).toEqual([{ indisvalid: false }]);
    await holder.query("commit");
    expect(await run()).toEqual({ applied: ["0002_index.sql"] });
    expect(await valid()).toEqual([{ indisvalid: true }]);
  });

  it("are refused beside other statements", async () => {
    await file("0002_index.sql", `${index}alter table a add column c text;\n`);
    await expect(run()).rejects.toMatchObject({
      code: "migration.changed",
      message: expect.stringContaining("0002_index.sql"),
    });
  });
});

describe("the project's own migrations", () => {
  it("name the oldest code that runs on what they make, from the first that can", async () => {
    const names = (await readdir(migrationsFolder)).filter((each) => /^\d{4}_/.test(each));
    const newer = names.filter((each) => Number(each.slice(0, 4)) >= 100);
    expect(newer.length).toBeGreaterThan(0);
    for (const each of newer) {
      const text = await readFile(join(migrationsFolder, each), "utf8");
      expect(text, `${each} needs a line such as: -- oldest code: 0100`).toMatch(/^-- oldest code: \d{4}$/m);
    }
  });
});
