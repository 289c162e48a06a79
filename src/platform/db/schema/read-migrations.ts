import { createHash } from "node:crypto";
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { isConcurrent, type MigrationFile, oldestCodeOf } from "./migration-plan.ts";

/** The numbered files of a folder, in order. */
export async function readMigrations(directory: string): Promise<MigrationFile[]> {
  const names = (await readdir(directory)).filter((name) => /^\d{4}_[a-z0-9_]+\.sql$/.test(name)).sort();
  return Promise.all(
    names.map(async (name) => {
      // Line endings depend on how the file was checked out; the checksum must not.
      const text = (await readFile(join(directory, name), "utf8")).replaceAll("\r\n", "\n");
      const checksum = createHash("sha256").update(text).digest("hex");
      const version = Number(name.slice(0, 4));
      const oldestCode = oldestCodeOf(text, version);
      return { version, name, checksum, text, oldestCode, isConcurrent: isConcurrent(text) };
    }),
  );
}
