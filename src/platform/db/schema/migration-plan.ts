import { AppError } from "../../errors.ts";

export type MigrationFile = {
  version: number;
  name: string;
  checksum: string;
  text: string;
  /** The newest migration of the oldest code that runs on what this one makes. */
  oldestCode: number;
  /** Its indexes are made while others write, outside of a transaction. */
  isConcurrent: boolean;
};
export type AppliedMigration = {
  version: number;
  name: string;
  checksum: string;
  /** Null for one that says nothing: only code that knows it runs on it. */
  oldest_code: number | null;
};

/**
 * A migration that only adds says `-- oldest code: 0089` in its first lines: servers whose newest migration is 0089 go on, and
 * start again, on what it makes. One that says nothing is for code that knows it.
 */
export function oldestCodeOf(text: string, version: number): number {
  const found = /^-- oldest code: (\d{4})$/m.exec(text);
  return found ? Math.min(Number(found[1]), version) : version;
}

/** Says `-- concurrently` on a line of its own. */
export function isConcurrent(text: string): boolean {
  return /^-- concurrently$/m.test(text);
}

/** The statements of such a file, each for one index: those completed before a kill are left as they are. */
export function concurrentStatements({ name, text }: MigrationFile): { index: string; text: string }[] {
  const sql = text.replace(/^--.*$/gm, "");
  const statements = sql.split(";").map((each) => each.trim());
  return statements
    .filter((each) => each !== "")
    .map((each) => {
      const made = /^create (?:unique )?index concurrently if not exists ([a-z0-9_]+) on /i.exec(each);
      const dropped = /^drop index concurrently if exists ([a-z0-9_]+)$/i.exec(each);
      const index = made?.[1] ?? dropped?.[1];
      if (index !== undefined) return { index, text: each };
      throw changed(
        `Migration ${name} says "concurrently", so it may only have statements of the form "create index concurrently if not exists name on …" and "drop index concurrently if exists name". Put the others into a file of their own.`,
      );
    });
}

/**
 * Which files are still to be applied, in order; throws when the database's history and the files differ. A database
 * that is newer than the files is as good, where each of the migrations unknown here says that this code can run on it.
 */
export function planMigrations(
  files: readonly MigrationFile[],
  applied: readonly AppliedMigration[],
): MigrationFile[] {
  const byVersion = new Map<number, MigrationFile>();
  for (const file of files) {
    const other = byVersion.get(file.version);
    if (other !== undefined) {
      throw changed(`${other.name} and ${file.name} have the same number. Renumber the newer one.`);
    }
    byVersion.set(file.version, file);
  }
  const newestFile = Math.max(0, ...byVersion.keys());
  const newestApplied = Math.max(0, ...applied.map((migration) => migration.version));
  const unknown = applied.filter(({ version }) => version > newestFile);
  if (unknown.some(({ version, oldest_code }) => (oldest_code ?? version) > newestFile)) {
    throw new AppError({
      code: "migration.newer",
      kind: "conflict",
      message: `The database is at migration ${newestApplied}, but this version of Treadle only knows ${newestFile}. Start the newer version, or restore a backup made by this one.`,
    });
  }
  for (const migration of applied) {
    if (migration.version > newestFile) continue;
    const file = byVersion.get(migration.version);
    if (file === undefined || file.checksum !== migration.checksum) {
      throw changed(
        `Migration ${migration.name} was applied to the database, but its file is ${file === undefined ? "gone" : "different now"}. Migrations are never edited: restore the file and add a new one.`,
      );
    }
  }
  const done = new Set(applied.map((migration) => migration.version));
  const pending = files.filter((file) => !done.has(file.version)).sort((a, b) => a.version - b.version);
  const late = pending.find((file) => file.version < newestApplied);
  if (late !== undefined) {
    throw changed(
      `Migration ${late.name} is older than the newest applied one. Give it the next free number.`,
    );
  }
  return pending;
}

function changed(message: string): AppError {
  return new AppError({ code: "migration.changed", kind: "conflict", message });
}
