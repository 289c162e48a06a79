import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { migrate } from "../src/platform/db/migrate.ts";
import { openDatabase } from "../src/platform/db/open-database.ts";
import { createLogger } from "../src/platform/logger.ts";
import { startDebianPostgres } from "./support/components/debian-postgres.ts";
import { createTestDatabase, type TestDatabase } from "./support/database.ts";
import { fillTables, listNamedTables } from "./support/filled-tables.ts";
import { listHotStatements } from "./support/hot-statements.ts";
import { migrationsDirectory } from "./support/postgres.ts";
import { recordIngestion } from "./support/recorded-ingestion.ts";
import { complaintsAbout, listLarge, planOf, readIndexes } from "./support/statement-plans.ts";

const statements = await listHotStatements();

/**
 * These read a thousand rows at once, because that is quicker than to look for a hundred. They are planned anew as soon
 * as PostgreSQL has counted more, and `TableGrowth` tells it to; so are statements without a name, each time.
 */
const plannedAnewWhenSmall = /^(runs_finish|jobs_claim|jobs_reclaim)_v?\d+$/;

async function debianDatabase(): Promise<TestDatabase> {
  const server = await startDebianPostgres();
  const logger = createLogger({ level: "error" });
  await migrate({ url: server.url, directory: migrationsDirectory, logger });
  const database = openDatabase({ url: server.url, poolSize: 5, logger });
  return {
    database,
    url: server.url,
    drop: async () => {
      await database.close();
      await server.stop();
    },
  };
}

/**
 * PostgreSQL plans by what it believes of its tables. These tables are filled, analyzed, and then every hot statement
 * of every area is planned: none may read what grows.
 */
describe.each([
  { server: "the embedded PostgreSQL", open: () => createTestDatabase({ poolSize: 5 }) },
  { server: "Debian's PostgreSQL 15", open: debianDatabase },
])("plans of $server", ({ open }) => {
  let test: TestDatabase;
  let filled = 0;
  let tables: string[];
  beforeAll(async () => {
    test = await open();
    tables = await listNamedTables(
      test.database.sql,
      statements.map(({ statement }) => statement.text),
    );
  });
  afterAll(() => test?.drop());

  it.each([1_000, 50_000])(
    "stay at indexes with %i rows in every table",
    { timeout: 120_000 },
    async (rows) => {
      const { sql } = test.database;
      await fillTables(sql, tables, { from: filled, to: rows });
      filled = rows;
      const indexes = await readIndexes(sql);
      const limits = {
        large: await listLarge(sql, rows / 20),
        indexes,
        // A trace, a thread, a page: what one request may look at does not grow.
        maxEntries: Math.min(2_000, rows / 5),
      };
      const planned = { ...limits, large: rows > 1_000 ? limits.large : new Set<string>() };
      const found: string[] = [];
      for (const { key, statement } of statements) {
        const plan = await planOf(sql, statement);
        const isPlannedAnew = statement.name === "" || plannedAnewWhenSmall.test(statement.name);
        for (const complaint of complaintsAbout(plan, isPlannedAnew ? planned : limits))
          found.push(`${key} ${complaint}`);
      }
      for (const { key, statement, values } of await recordIngestion(test.database)) {
        const plan = await planOf(sql, statement, values);
        for (const complaint of complaintsAbout(plan, planned)) found.push(`${key} ${complaint}`);
      }
      expect(found).toEqual([]);
    },
  );
});
