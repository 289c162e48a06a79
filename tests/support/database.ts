import { randomBytes } from "node:crypto";
import { inject } from "vitest";
import { openDatabase } from "../../src/platform/db/connection/open-database.ts";
import type { Database } from "../../src/platform/db/database.ts";
import { createLogger } from "../../src/platform/logger.ts";
import { runOn, withDatabase } from "./postgres.ts";

export type TestDatabase = { database: Database; url: string; drop(): Promise<void> };

/** A migrated database of one's own: once per test file, in `beforeAll`, dropped in `afterAll`. */
export async function createTestDatabase(options: { poolSize?: number } = {}): Promise<TestDatabase> {
  const server = inject("postgresUrl");
  const template = inject("templateDatabase");
  const name = `${template}_${randomBytes(6).toString("hex")}`;
  await runOn(server, `create database ${name} template ${template}`);
  const url = withDatabase(server, name);
  const database = openDatabase({
    url,
    poolSize: options.poolSize ?? 10,
    logger: createLogger({ level: "error" }),
    applicationName: "treadle test",
  });
  return {
    database,
    url,
    drop: async () => {
      await database.close();
      await runOn(server, `drop database if exists ${name} with (force)`);
    },
  };
}
