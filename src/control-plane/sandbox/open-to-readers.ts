import { chmod, readdir, stat } from "node:fs/promises";
import { join } from "node:path";

/** Lets every user read a tree; only users who may pass the folders above can find it. */
export async function openToReaders(folder: string): Promise<void> {
  await chmod(folder, 0o755);
  for (const entry of await readdir(folder, { withFileTypes: true })) {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) await openToReaders(path);
    else if (entry.isFile()) {
      const { mode } = await stat(path);
      if ((mode & 0o444) !== 0o444) await chmod(path, mode | 0o444 | ((mode & 0o100) === 0 ? 0 : 0o011));
    }
  }
}
