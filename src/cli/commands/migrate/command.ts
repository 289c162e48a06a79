import type { Command } from "commander";
import type { GlobalOptions } from "../../program.ts";

export function register(program: Command): void {
  program
    .command("migrate")
    .description("update the database to this version's schema (`up` does so by itself)")
    .addHelpText(
      "after",
      "\nUse it to migrate a DATABASE_URL, and the ClickHouse of TREADLE_TRACES_URL, before you start or replace its servers. With TREADLE_SECRET_KEY it also makes the first workspace and the administrator's key, once: TREADLE_API_KEY, or a new one that is written to the data folder.",
    )
    .action(async (_options: object, command: Command) => {
      const options = command.optsWithGlobals<GlobalOptions>();
      const { environmentWith, readConfig } = await import("../../../config/index.ts");
      const config = readConfig(environmentWith({ TREADLE_DATA_DIR: options.dataDir }));
      const { createLogger } = await import("../../../platform/logger.ts");
      const { migrationsDirectory, withDatabaseUrl } = await import("../../server/local-database.ts");
      const { createOutput } = await import("../../terminal/output.ts");
      const output = createOutput(options);
      const logger = createLogger({ level: config.logLevel === "info" ? "warn" : config.logLevel });
      const { applied } = await withDatabaseUrl(config, logger, async (url) => {
        const { migrate } = await import("../../../platform/db/schema/migrate.ts");
        const done = await migrate({ url, directory: migrationsDirectory, logger });
        const { migrateClickHouseOf } = await import("./migrate-clickhouse-of.ts");
        return { applied: [...done.applied, ...(await migrateClickHouseOf(config, url, logger))] };
      });
      const { bootstrap } = await import("./bootstrap.ts");
      const made = await bootstrap(config, logger);
      output.data({ applied, ...(made && { workspace_id: made.workspaceId, api_key: made.apiKeyOrigin }) });
      if (applied.length === 0) output.line("The database is up to date.");
      for (const name of applied) output.line(`${output.paint("green", "applied")} ${name}`);
      if (made) output.line(made.text);
    });
}
