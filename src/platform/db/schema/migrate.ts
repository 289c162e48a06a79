import { setTimeout as delay } from "node:timers/promises";
import pg from "pg";
import { AppError } from "../../errors.ts";
import type { Logger } from "../../logger.ts";
import { clientKeepAlive, serverKeepAlive } from "../connection/keep-alive.ts";
import { waitForDatabase } from "../connection/wait-for-database.ts";
import { describeDatabase, mapDatabaseError } from "../database-errors.ts";
import { applyMigration, applyToNew, defaultPatience, type LockPatience } from "./apply-migration.ts";
import { type AppliedMigration, planMigrations } from "./migration-plan.ts";
import { readMigrations } from "./read-migrations.ts";

export type MigrateOptions = {
  url: string;
  directory: string;
  logger: Logger;
  /** How long a database may take until it answers. Default: it must at once. */
  waitMs?: number;
  /** How long one connection may take: where packets are lost nobody says that it will never come. */
  connectTimeoutMs?: number;
  patience?: Partial<LockPatience>;
};

// Any fixed number does, as long as every Treadle takes the same one.
const advisoryLockKey = 7_236_331_204;
const lockWaitSeconds = 120;
const oldestServer = 150_000;
/** Others are told why nothing happens. */
const tellAfterMs = 3_000;
/** Databases of before `oldest_code` have no such column, and a role that may change nothing can still start on them. */
const journalText = `create table if not exists schema_migrations (
    version integer primary key,
    name text not null,
    checksum text not null,
    applied_at timestamptz not null default now(),
    oldest_code integer
  );
  alter table schema_migrations add column if not exists oldest_code integer`;

/** Brings the database to the newest migration. Several processes may call it at once. */
export async function migrate(options: MigrateOptions): Promise<{ applied: string[] }> {
  const files = await readMigrations(options.directory);
  const where = describeDatabase(options.url);
  const { logger, waitMs: timeoutMs = 0 } = options;
  const client = await waitForDatabase(() => connect(options, where), { timeoutMs, logger });
  try {
    await checkServerVersion(client, where);
    let applied = await readApplied(client);
    let pending = planMigrations(files, applied);
    // A database that is up to date waits for nobody: who has the lock may be a machine that is gone.
    if (pending.length > 0) {
      await takeLock(client, where, logger);
      await client.query(journalText);
      applied = await readApplied(client);
      pending = planMigrations(files, applied);
    }
    const isMade = applied.length === 0 && pending.length > 1 && (await applyToNew(client, pending, logger));
    for (const file of isMade ? [] : pending) {
      await applyMigration(client, file, { logger, patience: { ...defaultPatience, ...options.patience } });
      options.logger.debug({ migration: file.name }, "migration applied");
    }
    // A new database is no news; an older one that was brought up to date is.
    if (pending.length > 0 && applied.length > 0)
      options.logger.info({ migrations: pending.length }, "the database was brought up to date");
    const newest = applied.at(-1)?.version ?? 0;
    if (newest > (files.at(-1)?.version ?? 0))
      options.logger.info(
        { database: newest },
        "the database is that of a newer version, which this one can run on",
      );
    return { applied: pending.map((file) => file.name) };
  } catch (error) {
    throw mapDatabaseError(error, where);
  } finally {
    await client.end().catch(() => undefined);
  }
}

async function connect(options: MigrateOptions, where: string): Promise<pg.Client> {
  const { url, logger, connectTimeoutMs = 10_000 } = options;
  const client = new pg.Client({
    ...{ connectionString: url, application_name: "treadle migrate", ...clientKeepAlive },
    connectionTimeoutMillis: connectTimeoutMs,
  });
  client.on("error", (error) => logger.debug({ err: error }, "migration connection lost"));
  try {
    await client.connect();
    await client.query(`select ${serverKeepAlive}`);
    return client;
  } catch (error) {
    await client.end().catch(() => undefined);
    throw mapDatabaseError(error, where, true);
  }
}

async function checkServerVersion(client: pg.Client, where: string): Promise<void> {
  const { rows } = await client.query<{ number: number; text: string }>(
    "select current_setting('server_version_num')::integer as number, current_setting('server_version') as text",
  );
  const [version] = rows;
  if (version === undefined || version.number >= oldestServer) return;
  throw new AppError({
    code: "database.too_old",
    kind: "unavailable",
    retryable: false,
    message: `The database at ${where} is PostgreSQL ${version.text}; Treadle needs 15 or newer. Upgrade it, or set DATABASE_URL to another server.`,
  });
}

/** Asked again and again: a statement that waits for it would itself be waited for by indexes that are made concurrently. */
async function takeLock(client: pg.Client, where: string, logger: Logger): Promise<void> {
  const began = performance.now();
  let told = false;
  for (let pauseMs = 20; ; pauseMs = Math.min(500, pauseMs * 2)) {
    const { rows } = await client.query<{ taken: boolean }>("select pg_try_advisory_lock($1) as taken", [
      advisoryLockKey,
    ]);
    if (rows[0]?.taken) return;
    const waitedMs = performance.now() - began;
    if (waitedMs > lockWaitSeconds * 1000) break;
    if (waitedMs > tellAfterMs && !told) {
      logger.info({ database: where }, "waiting for another process that migrates the database");
      told = true;
    }
    await delay(pauseMs);
  }
  throw new AppError({
    code: "migration.locked",
    kind: "unavailable",
    message: `Another process has been migrating the database at ${where} for over ${lockWaitSeconds} s. Wait for it, or end its connection, and start again.`,
  });
}

async function readApplied(client: pg.Client): Promise<AppliedMigration[]> {
  const known = await client.query<{ found: boolean }>(
    "select to_regclass('schema_migrations') is not null as found",
  );
  if (known.rows[0]?.found !== true) return [];
  const result = await client.query<AppliedMigration>(
    // By way of JSON, where a column that is not there yet is null.
    `select version, name, checksum, (to_jsonb(m) ->> 'oldest_code')::integer as oldest_code
      from schema_migrations m order by version`,
  );
  return result.rows;
}
