import { mkdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { startEmbeddedPostgres } from "../../src/platform/db/embedded/embedded-postgres.ts";
import { migrate } from "../../src/platform/db/schema/migrate.ts";
import { createLogger } from "../../src/platform/logger.ts";
import { runCommand } from "./components/run-command.ts";
import { oncePerRun } from "./once-per-run.ts";
import { migrationsDirectory } from "./postgres.ts";

/**
 * A data folder whose embedded database is made and migrated already, and otherwise empty: for servers of which
 * something else than their very first start is tested.
 */
export async function prepareDataDir(dataDir: string): Promise<string> {
  const made = await oncePerRun("prepared-data", async (folder) => {
    const logger = createLogger({ level: "warn" });
    const settings = { fsync: "off", synchronous_commit: "off", full_page_writes: "off" };
    const postgres = await startEmbeddedPostgres({ dataDir: folder, logger, settings });
    try {
      await migrate({ url: postgres.url, directory: migrationsDirectory, logger });
    } finally {
      await postgres.stop();
    }
    // Its copies are different servers.
    await rm(join(folder, "postgres.port"));
  });
  await mkdir(dataDir, { recursive: true });
  await runCommand("cp", ["-a", "--reflink=auto", join(made, "postgres"), join(dataDir, "postgres")]);
  return dataDir;
}
