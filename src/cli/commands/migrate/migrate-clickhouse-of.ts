import { clickHouseMigrations } from "../../../app/open-clickhouse.ts";
import type { Config } from "../../../config/index.ts";
import { PreparedClickHouse } from "../../../platform/clickhouse/prepared-clickhouse.ts";
import { openDatabase } from "../../../platform/db/connection/open-database.ts";
import type { Logger } from "../../../platform/logger.ts";

/** Brings the ClickHouse of the settings up to date, if there is one; returns the migrations this was done with. */
export async function migrateClickHouseOf(
  { clickHouse: given }: Config,
  url: string,
  logger: Logger,
): Promise<readonly string[]> {
  if (given === undefined) return [];
  const database = openDatabase({ url, poolSize: 2, logger, applicationName: "treadle migrate" });
  try {
    const prepared = await PreparedClickHouse.open({
      ...{ ...given, database, logger },
      directory: clickHouseMigrations,
    });
    try {
      return (await prepared.prepare()).map((name) => `clickhouse/${name}`);
    } finally {
      await prepared.close();
    }
  } finally {
    await database.close();
  }
}
