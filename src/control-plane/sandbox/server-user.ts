import { createHash } from "node:crypto";
import { chmod, chown, mkdir, readdir, stat } from "node:fs/promises";
import { dirname, join } from "node:path";

export type ServerUser = { uid: number; gid: number };

/** Above what systems give to people and services; no entry in the password file is needed. */
const firstUid = 300_000;
const uids = 1_000_000;

/**
 * A user of its own for each deployment, so that its code reads neither the platform's files nor another's. Only
 * root can do that, and only where such a user can reach what it has to read; null where it cannot.
 */
export async function chooseServerUser(
  deploymentId: string,
  home: string,
  mustRead: readonly string[],
): Promise<ServerUser | { reason: string }> {
  if (process.getuid?.() === 0) await mkdir(home, { recursive: true });
  const user = await chooseUser(deploymentId, [...mustRead, dirname(home)]);
  if (!("uid" in user)) return user;
  await chown(home, user.uid, user.gid);
  await chmod(home, 0o700);
  return user;
}

/** The user that goes by this name, which needs no entry anywhere; or why nobody else can be used. */
export async function chooseUser(
  name: string,
  mustRead: readonly string[],
): Promise<ServerUser | { reason: string }> {
  if (process.getuid?.() !== 0) return { reason: "the platform does not run as root" };
  for (const path of mustRead) {
    const closed = await findClosed(path);
    if (closed !== null) return { reason: `other users cannot pass ${closed}` };
  }
  const uid = firstUid + (createHash("sha256").update(name).digest().readUInt32BE(0) % uids);
  return { uid, gid: uid };
}

/** The first part of a path that somebody without rights of their own cannot pass or read. */
async function findClosed(path: string): Promise<string | null> {
  const { mode } = await stat(path);
  const needed = (await stat(path)).isDirectory() ? 0o001 : 0o004;
  if ((mode & needed) === 0) return path;
  const parent = dirname(path);
  return parent === path ? null : findClosed(parent);
}

/** Lets everybody read a tree whose folder only the initiated can find. */
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
