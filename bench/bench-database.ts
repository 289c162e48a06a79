import { chmod, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { openDatabase } from "../src/platform/db/connection/open-database.ts";
import type { Database } from "../src/platform/db/database.ts";
import { startEmbeddedPostgres } from "../src/platform/db/embedded/embedded-postgres.ts";
import { migrate } from "../src/platform/db/schema/migrate.ts";
import { createLogger } from "../src/platform/logger.ts";

/** An empty database with all migrations, in a folder of its own that goes with it. */
export async function openBenchDatabase(): Promise<{
  database: Database;
  url: string;
  stop(): Promise<void>;
}> {
  const logger = createLogger({ level: "warn" });
  const folder = await mkdtemp(join(tmpdir(), "treadle-bench-"));
  await chmod(folder, 0o711);
  const server = await startEmbeddedPostgres({ dataDir: folder, logger });
  const directory = fileURLToPath(new URL("../migrations", import.meta.url));
  await migrate({ url: server.url, directory, logger });
  const database = openDatabase({ url: server.url, poolSize: 4, logger });
  return {
    database,
    url: server.url,
    async stop() {
      await database.close();
      await server.stop();
      await rm(folder, { recursive: true, force: true });
    },
  };
}
