import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type ClickHouse as Server, startClickHouse } from "../../../tests/support/components/clickhouse.ts";
import { clickHouseStartLimitMs } from "../../../tests/support/components/clickhouse-library.ts";
import { createTestDatabase, type TestDatabase } from "../../../tests/support/database.ts";
import { createLogger } from "../logger.ts";
import { migrationsFolder } from "../package-facts.ts";
import { ClickHouseHealth } from "./clickhouse-health.ts";
import { inspectClickHouse } from "./migrate-clickhouse.ts";
import { PreparedClickHouse } from "./prepared-clickhouse.ts";

const logger = createLogger({ level: "silent" });
const directory = join(migrationsFolder, "clickhouse");
let server: Server;
let testDatabase: TestDatabase;

// The first run on a machine fetches it.
beforeAll(async () => {
  server = await startClickHouse();
  testDatabase = await createTestDatabase();
}, clickHouseStartLimitMs);
afterAll(async () => {
  await testDatabase?.drop();
  await server?.stop();
});

const open = (url: string) =>
  PreparedClickHouse.open({ url, directory, logger, database: testDatabase.database });

describe("a prepared ClickHouse", () => {
  it("is brought up to date before the first statement, by one of all who start", async () => {
    const url = await server.createDatabase();
    const all = await Promise.all([open(url), open(url), open(url)]);
    const counts = await Promise.all(
      all.map(({ clickHouse }) => clickHouse.rows<{ n: number }>("select count() as n from trace_runs")),
    );
    expect(counts).toEqual([[{ n: 0 }], [{ n: 0 }], [{ n: 0 }]]);
    const applied = await all[0]!.clickHouse.rows<{ n: number; names: number }>(
      "select count() as n, uniqExact(name) as names from schema_migrations",
    );
    expect(applied[0]!.n).toBe(applied[0]!.names);
    expect(await inspectClickHouse(all[0]!.clickHouse, directory)).toMatchObject({
      version: expect.stringMatching(/^\d+\.\d+/),
      pending: [],
    });
    await Promise.all(all.map((each) => each.close()));
  });

  it("that is away is used as soon as it is back", async () => {
    const prepared = await open(await server.createDatabase());
    const health = new ClickHouseHealth(prepared);
    await server.kill();
    try {
      await expect(prepared.prepare()).rejects.toMatchObject({
        code: "database.unavailable",
        retryable: true,
      });
      await expect(prepared.clickHouse.rows("select 1")).rejects.toMatchObject({
        code: "database.unavailable",
      });
      expect(await health.problem()).toBe("clickhouse.unavailable");
    } finally {
      await server.restart();
    }
    expect(await prepared.clickHouse.rows("select count() as n from trace_runs")).toEqual([{ n: 0 }]);
    expect(await new ClickHouseHealth(prepared).problem()).toBeNull();
    await prepared.close();
  });

  it("says what a wrong address must be", async () => {
    const prepared = await open(`${server.origin}/not_there`);
    await expect(prepared.prepare()).rejects.toMatchObject({ code: "database.refused", retryable: false });
    await prepared.close();
  });
});
