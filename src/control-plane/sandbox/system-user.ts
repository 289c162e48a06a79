import { createHash } from "node:crypto";
import { stat } from "node:fs/promises";
import { dirname } from "node:path";

export type SystemUser = { uid: number; gid: number };

/** Above what systems give to people and services; no entry in the password file is needed. */
const firstId = 300_000;
const ids = 1_000_000;

/** The id derived from this name. */
export function systemId(name: string): number {
  return firstId + (createHash("sha256").update(name).digest().readUInt32BE(0) % ids);
}

/** Each deployment is a user; those of a workspace are one group, which may read what was built for it. */
export function deploymentUser(deploymentId: string, workspaceId: string): SystemUser {
  return { uid: systemId(deploymentId), gid: workspaceGroup(workspaceId) };
}

export function workspaceGroup(workspaceId: string): number {
  return systemId(`workspace:${workspaceId}`);
}

/** The first part of a path that a user without special rights cannot pass or read; null when there is none. */
export async function findClosedFolder(path: string): Promise<string | null> {
  const found = await stat(path).catch((error: NodeJS.ErrnoException) => {
    // It will be created with the mode it needs, but the folders above it must still be passable.
    if (error.code === "ENOENT") return null;
    throw error;
  });
  const needed = found?.isDirectory() ? 0o001 : 0o004;
  if (found !== null && (found.mode & needed) === 0) return path;
  const parent = dirname(path);
  return parent === path ? null : findClosedFolder(parent);
}
