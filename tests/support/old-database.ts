import { randomBytes } from "node:crypto";
import { copyFile, mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { inject } from "vitest";
import { openDatabase } from "../../src/platform/db/connection/open-database.ts";
import type { Database } from "../../src/platform/db/database.ts";
import { migrate } from "../../src/platform/db/schema/migrate.ts";
import { createLogger } from "../../src/platform/logger.ts";
import { migrationsDirectory, runOn, withDatabase } from "./postgres.ts";

export type OldDatabase = {
  database: Database;
  /** Brings it up to date. */
  migrate(): Promise<void>;
  remove(): Promise<void>;
};

/** As it was after the migration with the number `last`, for tests of what a later one makes of its rows. */
export async function createOldDatabase(last: string): Promise<OldDatabase> {
  const logger = createLogger({ level: "silent" });
  const name = `migration_${randomBytes(6).toString("hex")}`;
  const url = withDatabase(inject("postgresUrl"), name);
  await runOn(inject("postgresUrl"), `create database ${name}`);
  const directory = await mkdtemp(join(tmpdir(), "treadle-migrations-"));
  for (const file of await readdir(migrationsDirectory)) {
    if (/^\d/.test(file) && file.slice(0, 4) <= last) {
      await copyFile(join(migrationsDirectory, file), join(directory, file));
    }
  }
  await migrate({ url, directory, logger });
  await rm(directory, { recursive: true });
  const database = openDatabase({ url, poolSize: 2, logger, applicationName: "treadle test" });
  return {
    database,
    async migrate() {
      await migrate({ url, directory: migrationsDirectory, logger });
    },
    async remove() {
      await database.close();
      await runOn(inject("postgresUrl"), `drop database if exists ${name} with (force)`);
    },
  };
}
