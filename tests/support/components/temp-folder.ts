import { chown, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

export interface TempFolder {
  path: string;
  remove(): Promise<void>;
}

/** `owner` is for servers that refuse to run as root and need a folder of their own. */
export async function createTempFolder(
  name: string,
  owner?: { uid: number; gid: number },
): Promise<TempFolder> {
  const path = await mkdtemp(join(tmpdir(), `treadle-${name}-`));
  if (owner) await chown(path, owner.uid, owner.gid);
  return {
    path,
    // A server that was just killed may still be closing files, hence the retries.
    remove: () => rm(path, { recursive: true, force: true, maxRetries: 10, retryDelay: 100 }),
  };
}
