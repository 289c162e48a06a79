import { stat } from "node:fs/promises";
import { type Config, environmentWith, readConfig } from "../../config/index.ts";
import type { Database } from "../../platform/db/database.ts";
import { AppError } from "../../platform/errors.ts";
import { createLogger, type Logger } from "../../platform/logger.ts";
import { withDatabase } from "./local-database.ts";

type Installation = { config: Config; database: Database; logger: Logger };

/** For commands that work on the database itself, whether the server runs or not. */
export async function withInstallation<T>(
  options: { dataDir?: string | undefined },
  work: (on: Installation) => Promise<T>,
): Promise<T> {
  const config = readConfig(environmentWith({ TREADLE_DATA_DIR: options.dataDir }));
  // Ordinary progress of the database is noise around the one line asked for.
  const logger = createLogger({ level: config.logLevel === "info" ? "warn" : config.logLevel });
  if (config.databaseUrl === undefined) await checkStartedBefore(config.dataDir);
  return withDatabase(config, logger, (database) => work({ config, database, logger }));
}

/** A mistyped folder must not become a new database. */
async function checkStartedBefore(dataDir: string): Promise<void> {
  await stat(dataDir).catch((error: unknown) => {
    throw neverStarted(dataDir, error);
  });
}

export function neverStarted(dataDir: string, cause?: unknown): AppError {
  return new AppError({
    code: "data_folder.never_started",
    kind: "not_found",
    message: `Treadle was never started on the data folder ${dataDir}. Run \`treadle up\` there once, or name the right folder with --data-dir.`,
    cause,
  });
}
