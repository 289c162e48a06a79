import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { type AddressInfo, createConnection, createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pipeline } from "node:stream";
import pg from "pg";
import { afterEach, beforeEach, describe, expect, inject, it } from "vitest";
import { startTcpProxy } from "../../../../tests/support/components/tcp-proxy.ts";
import { runOn, withDatabase } from "../../../../tests/support/postgres.ts";
import { createLogger } from "../../logger.ts";
import { migrate } from "./migrate.ts";

const logger = createLogger({ level: "silent" });
let directory: string;
let url: string;
let name: string;

beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), "treadle-migrations-"));
  name = `${inject("templateDatabase")}_m${process.pid}`;
  await runOn(inject("postgresUrl"), `create database ${name}`);
  url = withDatabase(inject("postgresUrl"), name);
});
afterEach(async () => {
  await runOn(inject("postgresUrl"), `drop database ${name} with (force)`);
  await rm(directory, { recursive: true });
});

const file = (fileName: string, text: string) => writeFile(join(directory, fileName), text);
const run = () => migrate({ url, directory, logger });

async function rows(text: string): Promise<object[]> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    return (await client.query<object>(text)).rows;
  } finally {
    await client.end();
  }
}

describe("migrate", () => {
  it("does not wait for ever for a server that takes its connection and never answers", async () => {
    const proxy = await startTcpProxy({ target: url });
    try {
      proxy.blackHole();
      const silent = migrate({ url: proxy.urlFor(url), directory, logger, connectTimeoutMs: 200 });
      await expect(silent).rejects.toMatchObject({ code: "database.unavailable", retryable: true });
    } finally {
      await proxy.stop();
    }
  });

  it("applies what is new, in order, once", async () => {
    await file("0002_second.sql", "alter table a add column c text;");
    await file("0001_first.sql", "create table a (b integer);\r\ncreate index on a (b);");
    expect(await run()).toEqual({ applied: ["0001_first.sql", "0002_second.sql"] });
    expect(await run()).toEqual({ applied: [] });
    await file("0003_third.sql", "insert into a values (1, 'x');");
    expect(await run()).toEqual({ applied: ["0003_third.sql"] });
    expect(await rows("select * from a")).toEqual([{ b: 1, c: "x" }]);
  });

  it("makes a new database in one transaction, also what is built beside others elsewhere", async () => {
    await file(
      "0001_first.sql",
      "create table a (b integer);\n-- The end has no semicolon\ncreate table c (d integer)",
    );
    const concurrently =
      "create index concurrently if not exists a_b on a (b);\ndrop index concurrently if exists a_c;";
    await file("0002_second.sql", `-- concurrently\n${concurrently}`);
    await file("0003_third.sql", "insert into a values (1); -- The last word is a comment");
    await file("0004_fourth.sql", "insert into a values (2);");
    expect((await run()).applied).toHaveLength(4);
    expect(await rows("select b from a order by b")).toEqual([{ b: 1 }, { b: 2 }]);
    expect(await rows("select indexdef from pg_indexes where indexname = 'a_b'")).toHaveLength(1);
    expect(await rows("select distinct applied_at from schema_migrations")).toHaveLength(1);
    expect(await rows("select version, name from schema_migrations order by 1")).toMatchObject([
      { version: 1, name: "0001_first.sql" },
      { version: 2, name: "0002_second.sql" },
      { version: 3 },
      { version: 4 },
    ]);
  });

  it("lets several processes start at once: one applies, the others find it done", async () => {
    await file("0001_first.sql", "create table a (b integer);");
    const outcomes = await Promise.all([run(), run(), run(), run()]);
    expect(outcomes.flatMap((outcome) => outcome.applied)).toEqual(["0001_first.sql"]);
  });

  it("waits for nobody where nothing is new, and tells whom it waits for elsewhere", async () => {
    await file("0001_first.sql", "create table a (b integer);");
    await run();
    const other = new pg.Client({ connectionString: url });
    await other.connect();
    await other.query("select pg_advisory_lock(7236331204)");
    expect(await run()).toEqual({ applied: [] });
    await file("0002_second.sql", "create table c (d integer);");
    const told = Promise.withResolvers<unknown>();
    const info = (facts: object, message: string) => told.resolve({ ...facts, message });
    const waiting = migrate({ url, directory, logger: Object.assign(Object.create(logger), { info }) });
    expect(await told.promise).toMatchObject({
      message: "waiting for another process that migrates the database",
    });
    await other.end();
    expect(await waiting).toEqual({ applied: ["0002_second.sql"] });
  });

  it("holds the lock on a connection that ends when its machine is gone", async () => {
    await file("0001_first.sql", "create table a as select current_setting('tcp_keepalives_idle') as idle;");
    await run();
    expect(await rows("select idle from a")).toEqual([{ idle: "15" }]);
  });

  it("waits for a database that is not ready yet, as long as it may", async () => {
    const { hostname, port } = new URL(url);
    let refused = 0;
    const proxy = createServer((socket) => {
      if (refused++ < 2) socket.destroy();
      else pipeline(socket, createConnection(Number(port), hostname), socket, () => {});
    });
    await new Promise<void>((resolve) => proxy.listen(0, "127.0.0.1", resolve));
    const through = new URL(url);
    through.host = `127.0.0.1:${(proxy.address() as AddressInfo).port}`;
    const options = { url: through.href, directory, logger };
    await expect(migrate(options)).rejects.toMatchObject({ code: "database.unavailable" });
    expect(await migrate({ ...options, waitMs: 20_000 })).toEqual({ applied: [] });
    expect(refused).toBe(3);
    proxy.close();
  });

  it("keeps nothing of a file that fails, and names file and line", async () => {
    await file("0001_first.sql", "create table a (b integer);");
    await file("0002_bad.sql", "create table half (b integer);\ncreate table broken (b nonsense);");
    await expect(run()).rejects.toMatchObject({
      code: "migration.failed",
      message: expect.stringContaining("0002_bad.sql (line 2)"),
    });
    expect(await rows("select version from schema_migrations")).toEqual([{ version: 1 }]);
    expect(await rows("select to_regclass('half')::text as half")).toEqual([{ half: null }]);
  });

  it("refuses a database of a newer version", async () => {
    await file("0001_first.sql", "create table a (b integer);");
    await file("0002_second.sql", "create table c (d integer);");
    await run();
    await rm(join(directory, "0002_second.sql"));
    await expect(run()).rejects.toMatchObject({ code: "migration.newer" });
  });

  it("starts an older version on a newer database whose migrations say that it can", async () => {
    await file("0001_first.sql", "create table a (b integer);");
    await file("0002_second.sql", "create table c (d integer);\n");
    await run();
    await file(
      "0003_third.sql",
      "-- Only adds.\n-- oldest code: 0002\nalter table a add column e integer;\n",
    );
    await run();
    await rm(join(directory, "0003_third.sql"));
    expect(await run()).toEqual({ applied: [] });
    await rm(join(directory, "0002_second.sql"));
    await expect(run()).rejects.toMatchObject({ code: "migration.newer" });
  });

  it("refuses it when one of several says otherwise", async () => {
    await file("0001_first.sql", "create table a (b integer);");
    await file("0002_second.sql", "-- oldest code: 0001\ncreate table c (d integer);\n");
    await file("0003_third.sql", "drop table a;\n");
    await run();
    await rm(join(directory, "0002_second.sql"));
    await rm(join(directory, "0003_third.sql"));
    await expect(run()).rejects.toMatchObject({ code: "migration.newer" });
  });

  it("brings up to date a database that does not keep the oldest code yet", async () => {
    await file("0001_first.sql", "create table a (b integer);");
    await run();
    await rows("alter table schema_migrations drop column oldest_code");
    expect(await run()).toEqual({ applied: [] });
    await file("0002_second.sql", "-- oldest code: 0001\ncreate table c (d integer);\n");
    await run();
    expect(await rows("select version, oldest_code from schema_migrations order by version")).toEqual([
      { version: 1, oldest_code: null },
      { version: 2, oldest_code: 1 },
    ]);
  });

  it("refuses an applied file that was changed, but not one with other line endings", async () => {
    await file("0001_first.sql", "create table a (b integer);\n");
    await run();
    await file("0001_first.sql", "create table a (b integer);\r\n");
    expect(await run()).toEqual({ applied: [] });
    await file("0001_first.sql", "create table a (b bigint);\n");
    await expect(run()).rejects.toMatchObject({
      code: "migration.changed",
      message: expect.stringContaining("0001_first.sql"),
    });
  });

  it("refuses a file that comes too late, and two of one number", async () => {
    await file("0002_second.sql", "create table a (b integer);");
    await run();
    await file("0001_late.sql", "create table c (d integer);");
    await expect(run()).rejects.toMatchObject({ message: expect.stringContaining("0001_late.sql") });
    await rm(join(directory, "0001_late.sql"));
    await file("0002_other.sql", "create table c (d integer);");
    await expect(run()).rejects.toMatchObject({ message: expect.stringContaining("same number") });
  });
});
