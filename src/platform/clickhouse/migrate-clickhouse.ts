import { type AppliedMigration, type MigrationFile, planMigrations } from "../db/schema/migration-plan.ts";
import { readMigrations } from "../db/schema/read-migrations.ts";
import { AppError, errorMessage } from "../errors.ts";
import type { Logger } from "../logger.ts";
import type { ClickHouse } from "./clickhouse.ts";
import { onCluster } from "./on-cluster.ts";

export type MigrateClickHouseOptions = {
  clickHouse: ClickHouse;
  directory: string;
  logger: Logger;
  /** The name of the cluster whose servers all have the tables, as replicas of each other. */
  cluster?: string | undefined;
  /** One process at a time, of all that use this database. ClickHouse has no locks, so PostgreSQL holds it. */
  exclusively<T>(work: () => Promise<T>): Promise<T>;
};

const oldestServer = { year: 26, month: 3 };

/** Brings the database to the newest migration, by the rules of the one in PostgreSQL. */
export async function migrateClickHouse(options: MigrateClickHouseOptions): Promise<{ applied: string[] }> {
  const { clickHouse, logger, cluster } = options;
  const { files, pending } = await readState(clickHouse, options.directory);
  const statements = new Map(files.map((file) => [file, statementsOf(file)]));
  // One that is up to date waits for nobody, and needs no right to change anything.
  if (pending.length === 0) return { applied: [] };
  return await options.exclusively(async () => {
    await clickHouse.run(onCluster(journalText, cluster));
    const applied = await readApplied(clickHouse);
    const stillPending = planMigrations(files, applied);
    const applyAll = async (file: MigrationFile) => {
      for (const statement of statements.get(file)!)
        await apply(clickHouse, file, onCluster(statement, cluster));
    };
    if (applied.length === 0) for (const file of stillPending.filter(isFirst)) await applyAll(file);
    for (const file of stillPending) {
      await applyAll(file);
      const { version, name, checksum, oldestCode: oldest_code } = file;
      await clickHouse.insert("schema_migrations", [{ version, name, checksum, oldest_code }]);
      logger.debug({ migration: name }, "migration of ClickHouse applied");
    }
    if (stillPending.length > 0 && applied.length > 0)
      logger.info({ migrations: stillPending.length }, "ClickHouse was brought up to date");
    return { applied: stillPending.map((file) => file.name) };
  });
}

/** Its version, and the migrations that a start would apply. Changes nothing; fails where a start would fail. */
export async function inspectClickHouse(
  clickHouse: ClickHouse,
  directory: string,
): Promise<{ version: string; pending: string[] }> {
  const { version, pending } = await readState(clickHouse, directory);
  return { version, pending: pending.map((file) => file.name) };
}

async function readState(clickHouse: ClickHouse, directory: string) {
  const files = await readMigrations(directory);
  const version = await checkServerVersion(clickHouse);
  return { files, version, pending: planMigrations(files, await readApplied(clickHouse)) };
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

/**
 * A file with this line makes tables as a new database has them. There it is applied before all others too, which then find them made:
 * some properties of a table cannot be changed later. It is noted in its turn.
 */
function isFirst({ text }: MigrationFile): boolean {
  return /^-- first in a new database$/m.test(text);
}

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

async function checkServerVersion(clickHouse: ClickHouse): Promise<string> {
  const [row] = await clickHouse.rows<{ version: string }>("select version() as version");
  const version = row?.version ?? "";
  const [year = 0, month = 0] = version.split(".").map(Number);
  if (year > oldestServer.year || (year === oldestServer.year && month >= oldestServer.month)) return version;
  throw new AppError({
    code: "database.too_old",
    kind: "unavailable",
    retryable: false,
    message: `The server at ${clickHouse.where} is ClickHouse ${version}; Treadle needs 26.3 or newer. Upgrade it.`,
  });
}

const journalText = `create table if not exists schema_migrations (version UInt32, name String, checksum String,
  applied_at DateTime64(3, 'UTC') default now64(3), oldest_code UInt32)
engine = MergeTree
order by version`;

async function readApplied(clickHouse: ClickHouse): Promise<AppliedMigration[]> {
  const [known] = await clickHouse.rows<Record<string, number>>("exists table schema_migrations");
  if (Number(Object.values(known ?? {})[0]) !== 1) return [];
  // Twice the same where the answer to the insert was lost.
  return await clickHouse.rows<AppliedMigration>(
    "select distinct version, name, checksum, oldest_code from schema_migrations order by version",
  );
}
