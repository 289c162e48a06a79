import type { ClickHouse } from "../../../platform/clickhouse/clickhouse.ts";
import type { Clock } from "../../../platform/clock.ts";
import type { Database } from "../../../platform/db/database.ts";
import type { Logger } from "../../../platform/logger.ts";
import type { PriceOf } from "../../usage/model-prices.ts";
import type { RunStorage } from "../run-storage.ts";
import { ClickHouseRunFeedback } from "./feedback/clickhouse-run-feedback.ts";
import { ClickHouseRunReading } from "./reading/clickhouse-run-reading.ts";
import { ClickHouseRunStatistics } from "./reading/clickhouse-run-statistics.ts";
import { ClickHouseRunRemoval } from "./removal/clickhouse-run-removal.ts";
import { ClickHouseRunWriting } from "./writing/clickhouse-run-writing.ts";

export type ClickHouseRunStorageOptions = {
  clickHouse: ClickHouse;
  /** Where everything else is: projects, feedback, attachments, and what waits for runs to come. */
  database: Database;
  clock: Clock;
  logger: Logger;
  priceOf: PriceOf;
  readTimeoutMs: number;
};

/** Runs in ClickHouse. */
export function createClickHouseRunStorage(options: ClickHouseRunStorageOptions): RunStorage {
  const { clickHouse, database, clock, logger, priceOf, readTimeoutMs } = options;
  return {
    writing: new ClickHouseRunWriting({ clickHouse, database, clock, logger, priceOf }),
    reading: new ClickHouseRunReading({ clickHouse, database, readTimeoutMs }),
    statistics: new ClickHouseRunStatistics({ clickHouse, database, readTimeoutMs }),
    feedback: new ClickHouseRunFeedback({ clickHouse, database, logger }),
    removal: new ClickHouseRunRemoval({ clickHouse, database, logger }),
    // ClickHouse makes its own parts.
    prepare: async () => {},
  };
}
