import { join } from "node:path";
import { inject } from "vitest";
import { PreparedClickHouse } from "../../src/platform/clickhouse/prepared-clickhouse.ts";
import type { Database } from "../../src/platform/db/database.ts";
import { createLogger } from "../../src/platform/logger.ts";
import { migrationsFolder } from "../../src/platform/package-facts.ts";
import { createClickHouseDatabase } from "./components/clickhouse.ts";

/**
 * Where the runs of an application under test are kept: in PostgreSQL, or with `TREADLE_TEST_TRACES=clickhouse` in a new database of the test
 * run's ClickHouse.
 */
export async function testEngineSettings(): Promise<{ url: string; cluster: undefined } | undefined> {
  const origin = inject("clickHouseOrigin");
  return origin === null ? undefined : { url: await createClickHouseDatabase(origin), cluster: undefined };
}

/** The same, open, for an area that is tested without the application. */
export async function openTestEngine(database: Database): Promise<PreparedClickHouse | undefined> {
  const settings = await testEngineSettings();
  if (!settings) return undefined;
  return await PreparedClickHouse.open({
    ...{ ...settings, database, logger: createLogger({ level: "silent" }) },
    directory: join(migrationsFolder, "clickhouse"),
  });
}

/** For what is true of one engine alone. */
export const runsAreInPostgres = () => inject("clickHouseOrigin") === null;
