import { AppError } from "../../errors.ts";

export type MigrationFile = { version: number; name: string; checksum: string; text: string };
export type AppliedMigration = { version: number; name: string; checksum: string };

/** Which files are still to be applied, in order; throws when the database's history and the files differ. */
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
  if (newestApplied > newestFile) {
    throw new AppError({
      code: "migration.newer",
      kind: "conflict",
      message: `The database is at migration ${newestApplied}, this version of Treadle knows ${newestFile}. Start the newer version, or restore a backup made by this one.`,
    });
  }
  for (const migration of applied) {
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
