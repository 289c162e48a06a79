import { type AppliedMigration, type MigrationFile, planMigrations } from "../db/schema/migration-plan.ts";
import { readMigrations } from "../db/schema/read-migrations.ts";
import { AppError, errorMessage } from "../errors.ts";
import type { Logger } from "../logger.ts";
import type { ClickHouse } from "./clickhouse.ts";

export type MigrateClickHouseOptions = {
  clickHouse: ClickHouse;
  directory: string;
  logger: Logger;
  /** One process at a time, of all that use this database. ClickHouse has no locks, so PostgreSQL holds it. */
  exclusively<T>(work: () => Promise<T>): Promise<T>;
};

const oldestServer = { year: 26, month: 3 };

/** Brings the database to the newest migration, by the rules of the one in PostgreSQL. */
export async function migrateClickHouse(options: MigrateClickHouseOptions): Promise<{ applied: string[] }> {
  const { clickHouse, logger } = options;
  const files = await readMigrations(options.directory);
  const statements = new Map(files.map((file) => [file, statementsOf(file)]));
  await checkServerVersion(clickHouse);
  return await options.exclusively(async () => {
    const applied = await readApplied(clickHouse);
    const pending = planMigrations(files, applied);
    for (const file of pending) {
      for (const statement of statements.get(file)!) await apply(clickHouse, file, statement);
      const { version, name, checksum, oldestCode: oldest_code } = file;
      await clickHouse.insert("schema_migrations", [{ version, name, checksum, oldest_code }]);
      logger.debug({ migration: name }, "migration of ClickHouse applied");
    }
    if (pending.length > 0 && applied.length > 0)
      logger.info({ migrations: pending.length }, "ClickHouse was brought up to date");
    return { applied: pending.map((file) => file.name) };
  });
}

/**
 * ClickHouse has no transactions for these, so a migration that was interrupted is applied again from its first statement: each
 * must be one that changes nothing the second time.
 */
const repeatable = [
  /^create (table|view|materialized view|dictionary) if not exists /i,
  /^drop (table|view|dictionary) if exists /i,
  /^alter table [a-z0-9_]+ (add|drop) (column|index|projection) if (not )?exists /i,
  /^alter table [a-z0-9_]+ (modify|materialize) /i,
];

function statementsOf({ name, text }: MigrationFile): string[] {
  const statements = text
    .replace(/^\s*--.*$/gm, "")
    .split(/;\s*$/m)
    .map((each) => each.trim())
    .filter((each) => each !== "");
  const other = statements.find((each) => !repeatable.some((form) => form.test(each)));
  if (other === undefined) return statements;
  throw new AppError({
    code: "migration.failed",
    kind: "internal",
    message: `Migration ${name} of ClickHouse was not begun: it has a statement that cannot be repeated after an interruption, "${other.slice(0, 80)}". Write it with "if not exists" or "if exists".`,
  });
}

async function apply(clickHouse: ClickHouse, file: MigrationFile, statement: string): Promise<void> {
  try {
    await clickHouse.run(statement);
  } catch (error) {
    if (error instanceof AppError) throw error;
    throw new AppError({
      code: "migration.failed",
      kind: "internal",
      message: `Migration ${file.name} of ClickHouse failed at "${statement.slice(0, 80)}": ${errorMessage(error)}. What it did before stays; it is applied again from its beginning.`,
      cause: error,
    });
  }
}

async function checkServerVersion(clickHouse: ClickHouse): Promise<void> {
  const [row] = await clickHouse.rows<{ version: string }>("select version() as version");
  const [year = 0, month = 0] = (row?.version ?? "").split(".").map(Number);
  if (year > oldestServer.year || (year === oldestServer.year && month >= oldestServer.month)) return;
  throw new AppError({
    code: "database.too_old",
    kind: "unavailable",
    retryable: false,
    message: `The server at ${clickHouse.where} is ClickHouse ${row?.version}; Treadle needs 26.3 or newer. Upgrade it.`,
  });
}

async function readApplied(clickHouse: ClickHouse): Promise<AppliedMigration[]> {
  // Asked first, so that a user without the right to create tables can still start on a migrated database.
  const [known] = await clickHouse
    .rows<{ found: number }>("exists table schema_migrations")
    .then((rows) => rows.map((row) => ({ found: Number(Object.values(row)[0]) })));
  if (known?.found !== 1) {
    await clickHouse.run(
      `create table if not exists schema_migrations (version UInt32, name String, checksum String,
        applied_at DateTime64(3, 'UTC') default now64(3), oldest_code UInt32) engine = MergeTree order by version`,
    );
  }
  // Twice the same where the answer to the insert was lost.
  return await clickHouse.rows<AppliedMigration>(
    "select distinct version, name, checksum, oldest_code from schema_migrations order by version",
  );
}
