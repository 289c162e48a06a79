import { fileURLToPath } from "node:url";
import type { Config } from "../../config/index.ts";
import { prepareDataFolder, readRuntimeFile } from "../../platform/data-folder/data-folder.ts";
import { lockDataFolder } from "../../platform/data-folder/data-folder-lock.ts";
import type { Database } from "../../platform/db/database.ts";
import { AppError } from "../../platform/errors.ts";
import type { Logger } from "../../platform/logger.ts";

export const migrationsDirectory = fileURLToPath(new URL("../../../migrations", import.meta.url));

/**
 * The URL of this installation's database while `work` runs: DATABASE_URL, or the running server's
 * embedded Postgres, or the embedded Postgres started for the occasion.
 */
export async function withDatabaseUrl<T>(
  config: Config,
  logger: Logger,
  work: (url: string) => Promise<T>,
): Promise<T> {
  if (config.databaseUrl !== undefined) return work(config.databaseUrl);
  await prepareDataFolder(config.dataDir);
  const lock = await lockDataFolder(config.dataDir).catch((error: unknown) => {
    if (error instanceof AppError && error.code === "data_folder.locked") return null;
    throw error;
  });
  if (lock === null) return work(await runningDatabaseUrl(config.dataDir));
  try {
    const { startEmbeddedPostgres } = await import("../../platform/db/embedded/embedded-postgres.ts");
    const postgres = await startEmbeddedPostgres({ dataDir: config.dataDir, logger });
    try {
      return await work(postgres.url);
    } finally {
      await postgres.stop();
    }
  } finally {
    await lock.release();
  }
}

/** The same, migrated and opened. */
export async function withDatabase<T>(
  config: Config,
  logger: Logger,
  work: (database: Database) => Promise<T>,
): Promise<T> {
  return withDatabaseUrl(config, logger, async (url) => {
    const { migrate } = await import("../../platform/db/schema/migrate.ts");
    const { openDatabase } = await import("../../platform/db/connection/open-database.ts");
    await migrate({ url, directory: migrationsDirectory, logger });
    const database = openDatabase({ url, poolSize: 2, logger, applicationName: "treadle cli" });
    try {
      return await work(database);
    } finally {
      await database.close();
    }
  });
}

async function runningDatabaseUrl(dataDir: string): Promise<string> {
  const runtime = await readRuntimeFile(dataDir);
  if (runtime !== null) return runtime.databaseUrl;
  throw new AppError({
    code: "data_folder.locked",
    kind: "conflict",
    message: `The Treadle on the data folder ${dataDir} is just starting or stopping. Try again in a moment.`,
  });
}
