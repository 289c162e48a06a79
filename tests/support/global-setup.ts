import { chmod, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TestProject } from "vitest/node";
import { startClickHouse } from "./components/clickhouse.ts";
import { startTestPostgres } from "./postgres.ts";

declare module "vitest" {
  interface ProvidedContext {
    postgresUrl: string;
    templateDatabase: string;
    runFolder: string;
    /** Of the ClickHouse that keeps the runs of all applications under test; null: PostgreSQL does. */
    clickHouseOrigin: string | null;
  }
}

/**
 * For the whole run: one Postgres with one migrated template database that each test file clones, and a folder for
 * what test files make once and share.
 */
export default async function setup(project: TestProject) {
  const runFolder = await mkdtemp(join(tmpdir(), "treadle-run-"));
  // Deployed servers and databases run as other users.
  await chmod(runFolder, 0o755);
  // Servers that tests start as processes of their own compile the same modules again and again.
  process.env.NODE_COMPILE_CACHE = join(runFolder, "compiled");
  const postgres = await startTestPostgres();
  project.provide("postgresUrl", postgres.url);
  project.provide("templateDatabase", postgres.templateDatabase);
  project.provide("runFolder", runFolder);
  const clickHouse = process.env.TREADLE_TEST_TRACES === "clickhouse" ? await startClickHouse() : undefined;
  project.provide("clickHouseOrigin", clickHouse?.origin ?? null);
  return async () => {
    await clickHouse?.stop();
    await postgres.stop();
    await rm(runFolder, { recursive: true, force: true, maxRetries: 10, retryDelay: 100 });
  };
}
