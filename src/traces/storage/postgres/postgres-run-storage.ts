import type { Database } from "../../../platform/db/database.ts";
import { createBoundedRead } from "../bounded-read.ts";
import type { RunStorage } from "../run-storage.ts";
import { PostgresRunReading } from "./reading/postgres-run-reading.ts";
import { PostgresRunStatistics } from "./reading/postgres-run-statistics.ts";

/** Runs in the database that everything else is in, too. */
export function createPostgresRunStorage(options: { database: Database; readTimeoutMs: number }): RunStorage {
  const { database } = options;
  const read = createBoundedRead(database, options.readTimeoutMs);
  return {
    reading: new PostgresRunReading({ database, read }),
    statistics: new PostgresRunStatistics({ database, read }),
  };
}
