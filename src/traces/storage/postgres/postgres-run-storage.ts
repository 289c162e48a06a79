import type { Clock } from "../../../platform/clock.ts";
import type { Database } from "../../../platform/db/database.ts";
import type { Logger } from "../../../platform/logger.ts";
import type { PriceOf } from "../../usage/model-prices.ts";
import { createBoundedRead } from "../bounded-read.ts";
import type { RunStorage } from "../run-storage.ts";
import { PostgresRunFeedback } from "./feedback/postgres-run-feedback.ts";
import { Partitions } from "./partitions/partition-service.ts";
import { PostgresRunReading } from "./reading/postgres-run-reading.ts";
import { PostgresRunStatistics } from "./reading/postgres-run-statistics.ts";
import { PostgresRunRemoval } from "./removal/postgres-run-removal.ts";
import { PostgresRunWriting } from "./writing/postgres-run-writing.ts";

export type PostgresRunStorageOptions = {
  database: Database;
  clock: Clock;
  logger: Logger;
  priceOf: PriceOf;
  readTimeoutMs: number;
};

/** Runs in the database that everything else is in, too. */
export function createPostgresRunStorage(options: PostgresRunStorageOptions): RunStorage {
  const { database, clock, logger, priceOf } = options;
  const read = createBoundedRead(database, options.readTimeoutMs);
  const partitions = new Partitions({ database, clock, logger });
  return {
    writing: new PostgresRunWriting({ database, partitions, priceOf }),
    reading: new PostgresRunReading({ database, read }),
    statistics: new PostgresRunStatistics({ database, read }),
    feedback: new PostgresRunFeedback({ database }),
    removal: new PostgresRunRemoval({ database, logger, partitions }),
    prepare: () => partitions.prepare(),
  };
}
