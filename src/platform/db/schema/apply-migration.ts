import { setTimeout as delay } from "node:timers/promises";
import type pg from "pg";
import { AppError, errorMessage } from "../../errors.ts";
import type { Logger } from "../../logger.ts";
import { sqlState } from "../database-errors.ts";
import { concurrentStatements, type MigrationFile } from "./migration-plan.ts";

export type LockPatience = {
  /** How long a statement may wait for a lock: for so long others wait behind it. */
  lockTimeoutMs: number;
  /** How often it is tried again, all in all. */
  blockedMs: number;
};

export const defaultPatience: LockPatience = { lockTimeoutMs: 1_000, blockedMs: 5 * 60_000 };
/** Others get through meanwhile. */
const pauseMs = 1_000;

/**
 * One migration. If a long transaction uses a table, the migration does not wait for it, since everybody else would
 * wait behind it: it is rolled back after a moment and tried again.
 */
export async function applyMigration(
  client: pg.Client,
  file: MigrationFile,
  { logger, patience }: { logger: Logger; patience: LockPatience },
): Promise<void> {
  const deadline = performance.now() + patience.blockedMs;
  for (;;) {
    try {
      if (file.isConcurrent) await applyConcurrently(client, file);
      else await applyAtOnce(client, file, patience.lockTimeoutMs);
      return;
    } catch (error) {
      const state = sqlState(error);
      if (state === undefined || error instanceof AppError) throw error;
      // Not granted in time, or given up because two waited for one another.
      const isBlocked = state === "55P03" || state === "40P01";
      if (!isBlocked) throw failed(file, error);
      const holders = await longTransactions(client);
      if (performance.now() > deadline) throw blocked(file, holders, patience.blockedMs, error);
      logger.warn({ migration: file.name, holders }, "a migration waits for a table in use, trying again");
      await delay(pauseMs);
    }
  }
}

/**
 * All migrations of a new database in one transaction and one round, which takes half as long: nobody uses it yet, so no
 * index is built beside others. What fails here is tried one by one, and says there where it failed.
 */
export async function applyToNew(
  client: pg.Client,
  files: readonly MigrationFile[],
  logger: Logger,
): Promise<boolean> {
  try {
    await client.query(`begin; ${files.map(textForNew).join(";\n")}`);
    await record(client, files);
    await client.query("commit");
    return true;
  } catch (error) {
    await client.query("rollback").catch(() => undefined);
    logger.debug({ reason: errorMessage(error) }, "a new database is made one migration at a time");
    return false;
  }
}

function textForNew(file: MigrationFile): string {
  if (!file.isConcurrent) return file.text;
  return concurrentStatements(file)
    .map(({ text }) => text.replace(/ index concurrently /i, " index "))
    .join(";\n");
}

async function applyAtOnce(client: pg.Client, file: MigrationFile, lockTimeoutMs: number): Promise<void> {
  try {
    await client.query(`begin; set local lock_timeout = ${Math.round(lockTimeoutMs)}`);
    await client.query(file.text);
    await record(client, [file]);
    await client.query("commit");
  } catch (error) {
    await client.query("rollback").catch(() => undefined);
    throw error;
  }
}

/**
 * Indexes of large tables, built while others write. This cannot be part of a transaction: what a killed attempt left
 * is invalid, is dropped, and is built again. It waits for every open transaction and blocks none.
 */
async function applyConcurrently(client: pg.Client, file: MigrationFile): Promise<void> {
  for (const { index, text } of concurrentStatements(file)) {
    const { rows } = await client.query(
      "select 1 from pg_index where indexrelid = to_regclass($1) and not indisvalid",
      [index],
    );
    if (rows.length > 0) await client.query(`drop index concurrently if exists ${index}`);
    await client.query(text);
  }
  await record(client, [file]);
}

async function record(client: pg.Client, files: readonly MigrationFile[]): Promise<void> {
  await client.query(
    `insert into schema_migrations (version, name, checksum, oldest_code)
      select * from unnest($1::integer[], $2::text[], $3::text[], $4::integer[])`,
    [
      files.map(({ version }) => version),
      files.map(({ name }) => name),
      files.map(({ checksum }) => checksum),
      files.map(({ oldestCode }) => oldestCode),
    ],
  );
}

/** The transactions that may block the migration, for messages. */
async function longTransactions(client: pg.Client): Promise<string[]> {
  const { rows } = await client.query<{ holder: string }>(
    `select format('%s (process %s, for %s s)', coalesce(nullif(application_name, ''), usename), pid,
        extract(epoch from now() - xact_start)::integer) as holder
      from pg_stat_activity
      where datname = current_database() and pid <> pg_backend_pid() and xact_start < now() - interval '1 second'
      order by xact_start limit 3`,
  );
  return rows.map(({ holder }) => holder);
}

function blocked(file: MigrationFile, holders: string[], waitedMs: number, cause: unknown): AppError {
  const who =
    holders.length > 0
      ? ` The longest transactions are those of ${holders.join(", ")}. End them and start again.`
      : " Start again.";
  return new AppError({
    code: "migration.blocked",
    kind: "unavailable",
    message: `Migration ${file.name} could not be applied for ${Math.round(waitedMs / 1000)} s, because a table it changes is in use.${who}`,
    cause,
  });
}

function failed(file: MigrationFile, error: unknown): AppError {
  const result = file.isConcurrent ? "failed" : "failed and was rolled back";
  return new AppError({
    code: "migration.failed",
    kind: "internal",
    message: `Migration ${file.name}${file.isConcurrent ? "" : lineOf(file.text, error)} ${result}: ${errorMessage(error)}.`,
    cause: error,
  });
}

function lineOf(text: string, error: unknown): string {
  const position = Number((error as pg.DatabaseError).position);
  if (!Number.isInteger(position) || position < 1) return "";
  return ` (line ${text.slice(0, position - 1).split("\n").length})`;
}
