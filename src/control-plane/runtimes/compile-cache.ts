import { chown, cp, mkdir, readdir } from "node:fs/promises";
import { join } from "node:path";
import type { SystemUser } from "../sandbox/system-user.ts";

/** Below a server's home: where its Node keeps what it has compiled. */
export const compileCacheName = ".node-compile-cache";

/**
 * Lets a new home begin with code that was compiled before, so that the first start is as quick as the next. `from`
 * is a folder that Node was given as NODE_COMPILE_CACHE. Only for a home that nobody else could enter yet: whoever
 * owns it may put links there later.
 */
export async function seedCompileCache(from: string, home: string, owner: SystemUser | null): Promise<void> {
  const uid = owner?.uid ?? process.getuid?.();
  const target = join(home, compileCacheName);
  await mkdir(target, { mode: 0o700 });
  for (const name of await readdir(from)) {
    // Node keeps the folders of users apart by the last part of their names.
    await cp(join(from, name), join(target, name.replace(/-\d+$/, `-${uid}`)), { recursive: true });
  }
  if (owner) await giveAll(target, owner);
}

async function giveAll(folder: string, { uid, gid }: SystemUser): Promise<void> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  await Promise.all(entries.map(({ parentPath, name }) => chown(join(parentPath, name), uid, gid)));
  await chown(folder, uid, gid);
}
