import { chown, copyFile, link, mkdir, readdir, stat } from "node:fs/promises";
import { join } from "node:path";
import type { SystemUser } from "../sandbox/system-user.ts";

/** Below a server's home: where its Node keeps what it has compiled. */
export const compileCacheName = ".node-compile-cache";

/**
 * Lets a new home begin with code that was compiled before, so that the first start is as quick as the next. `from` is
 * a folder that Node was given as NODE_COMPILE_CACHE. Only for a home that no other user could enter yet: later its
 * owner may have put links there.
 */
export async function seedCompileCache(from: string, home: string, owner: SystemUser | null): Promise<void> {
  const uid = owner?.uid ?? process.getuid?.();
  const target = join(home, compileCacheName);
  await makeFolder(target, owner);
  for (const name of await readdir(from)) {
    // Node keeps the folders of users apart by the last part of their names.
    await fill(join(target, name.replace(/-\d+$/, `-${uid}`)), join(from, name), owner);
  }
}

async function fill(target: string, from: string, owner: SystemUser | null): Promise<void> {
  await makeFolder(target, owner);
  const names = await readdir(from);
  await Promise.all(names.map((name) => give(join(from, name), join(target, name), owner)));
}

async function makeFolder(path: string, owner: SystemUser | null): Promise<void> {
  await mkdir(path, { mode: 0o700 });
  if (owner) await chown(path, owner.uid, owner.gid);
}

/**
 * There are thousands of files. A file that its new reader may read and only root may write is linked instead of
 * copied: Node replaces files of its cache and never writes into them.
 */
async function give(from: string, to: string, owner: SystemUser | null): Promise<void> {
  if (owner && (await isShareable(from)) && (await linked(from, to))) return;
  await copyFile(from, to);
  if (owner) await chown(to, owner.uid, owner.gid);
}

async function isShareable(file: string): Promise<boolean> {
  const { uid, mode } = await stat(file);
  return uid === 0 && (mode & 0o004) !== 0 && (mode & 0o022) === 0;
}

/** False where the two are on different disks. */
async function linked(from: string, to: string): Promise<boolean> {
  try {
    await link(from, to);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "EXDEV") return false;
    throw error;
  }
}
