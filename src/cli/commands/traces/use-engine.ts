import { environmentWith, readConfig } from "../../../config/index.ts";
import { describeClickHouse } from "../../../platform/clickhouse/clickhouse-errors.ts";
import { openDatabase } from "../../../platform/db/connection/open-database.ts";
import { migrate } from "../../../platform/db/schema/migrate.ts";
import { createLogger } from "../../../platform/logger.ts";
import { EngineNote } from "../../../traces/engine-note.ts";
import type { GlobalOptions } from "../../program.ts";
import { migrationsDirectory, withDatabaseUrl } from "../../server/local-database.ts";
import { createOutput } from "../../terminal/output.ts";

/** Notes that runs are kept where the settings say, though they were elsewhere before. */
export async function useEngine(options: GlobalOptions): Promise<void> {
  const config = readConfig(environmentWith({ TREADLE_DATA_DIR: options.dataDir }));
  const output = createOutput(options);
  const logger = createLogger({ level: config.logLevel === "info" ? "warn" : config.logLevel });
  await withDatabaseUrl(config, logger, async (url) => {
    await migrate({ url, directory: migrationsDirectory, logger });
    const database = openDatabase({ url, poolSize: 1, logger, applicationName: "treadle traces use" });
    try {
      const at = config.clickHouse && describeClickHouse(config.clickHouse.url);
      const where = await new EngineNote(database, at).use();
      output.data({ engine: config.clickHouse ? "clickhouse" : "postgres" });
      output.line(`Runs of traces are kept in ${where} from now on. Start all servers with these settings.`);
    } finally {
      await database.close();
    }
  });
}
