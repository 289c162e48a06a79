import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { openDatabase } from "../src/platform/db/connection/open-database.ts";
import { migrate } from "../src/platform/db/schema/migrate.ts";
import { createLogger } from "../src/platform/logger.ts";
import { startDebianPostgres } from "./support/components/debian-postgres.ts";
import { createTestDatabase, type TestDatabase } from "./support/database.ts";
import { listNamedTables } from "./support/filled-tables.ts";
import { listHotStatements } from "./support/hot-statements.ts";
import { migrationsDirectory } from "./support/postgres.ts";
import { readPlans } from "./support/read-plans.ts";

const statements = await listHotStatements();

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
 * of every area is planned: none may read what grows. `npm run plans -- --rows 1000000` does the same with more.
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
    { timeout: 600_000 },
    async (rows) => {
      const found = await readPlans(test.database, { statements, tables, from: filled, to: rows });
      filled = rows;
      expect(found).toEqual([]);
    },
  );
});
