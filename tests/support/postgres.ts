import { randomBytes } from "node:crypto";
import { chmod, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import pg from "pg";
import { startEmbeddedPostgres } from "../../src/platform/db/embedded/embedded-postgres.ts";
import { migrate } from "../../src/platform/db/schema/migrate.ts";
import { createLogger } from "../../src/platform/logger.ts";

export const migrationsDirectory = fileURLToPath(new URL("../../migrations", import.meta.url));

export type TestPostgres = {
  /** A superuser's address, of the server's maintenance database. */
  url: string;
  templateDatabase: string;
  stop(): Promise<void>;
};

/**
 * The server every test uses: the one TREADLE_TEST_DATABASE_URL names, else an embedded one in a
 * temporary folder. Holds one migrated database to clone from.
 */
export async function startTestPostgres(): Promise<TestPostgres> {
  const server = await startScratchServer();
  const templateDatabase = `treadle_test_${randomBytes(6).toString("hex")}`;
  try {
    await runOn(server.url, `create database ${templateDatabase}`);
    const url = withDatabase(server.url, templateDatabase);
    await migrate({ url, directory: migrationsDirectory, logger: createLogger({ level: "warn" }) });
  } catch (error) {
    await dropDatabases(server.url, templateDatabase);
    await server.stop();
    throw error;
  }
  return {
    url: server.url,
    templateDatabase,
    stop: async () => {
      if (!server.disposable) await dropDatabases(server.url, templateDatabase);
      await server.stop();
    },
  };
}

type ScratchServer = { url: string; disposable: boolean; stop(): Promise<void> };

/** A Postgres whose content nobody will miss. */
export async function startScratchServer(): Promise<ScratchServer> {
  const given = process.env.TREADLE_TEST_DATABASE_URL;
  if (given !== undefined && given !== "") return { url: given, disposable: false, stop: async () => {} };
  const folder = await mkdtemp(join(tmpdir(), "treadle-test-"));
  // mkdtemp gives 0700; the unprivileged user Postgres runs as under root must be able to pass.
  await chmod(folder, 0o711);
  const remove = () => rm(folder, { recursive: true, force: true });
  try {
    const server = await startEmbeddedPostgres({
      dataDir: folder,
      logger: createLogger({ level: "warn" }),
      settings: { fsync: "off", synchronous_commit: "off", full_page_writes: "off" },
    });
    return {
      url: server.url,
      disposable: true,
      stop: async () => {
        await server.stop();
        await remove();
      },
    };
  } catch (error) {
    await remove();
    throw error;
  }
}

export function withDatabase(url: string, database: string): string {
  const changed = new URL(url);
  changed.pathname = `/${database}`;
  return changed.href;
}

export async function runOn(url: string, statement: string): Promise<void> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    await client.query(statement);
  } finally {
    await client.end();
  }
}

/** Drops the template and every clone a crashed test file may have left: their names start with its name. */
async function dropDatabases(url: string, template: string): Promise<void> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    const { rows } = await client.query<{ datname: string }>(
      "select datname from pg_database where starts_with(datname, $1)",
      [template],
    );
    for (const { datname } of rows) {
      await client.query(`drop database if exists ${pg.escapeIdentifier(datname)} with (force)`);
    }
  } finally {
    await client.end();
  }
}
