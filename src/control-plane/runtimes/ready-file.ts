import { constants, watch } from "node:fs";
import { open } from "node:fs/promises";
import { dirname } from "node:path";
import { type Announced, readAnnounced } from "./announcement.ts";

const maxBytes = 256 * 1024;

/**
 * Waits for the file a server writes once it serves. It is in a separate folder, which the server may write to: other
 * files and links there are ignored.
 */
export async function untilReadyFile(path: string, signal: AbortSignal): Promise<Announced> {
  const { promise, resolve, reject } = Promise.withResolvers<Announced>();
  let last: Promise<void> = Promise.resolve();
  const look = () => {
    last = last
      .then(() => read(path))
      .then((found) => {
        if (found) resolve(found);
      }, reject);
  };
  const watcher = watch(dirname(path), { persistent: false, signal }, look);
  watcher.on("error", reject);
  signal.addEventListener("abort", () => reject(signal.reason), { once: true });
  look();
  try {
    return await promise;
  } finally {
    watcher.close();
  }
}

async function read(path: string): Promise<Announced | null> {
  const flags = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;
  const file = await open(path, flags).catch((error: NodeJS.ErrnoException) => {
    if (error.code === "ENOENT" || error.code === "ELOOP" || error.code === "ENXIO") return null;
    throw error;
  });
  if (file === null) return null;
  try {
    const stat = await file.stat();
    if (!stat.isFile() || stat.size > maxBytes) return null;
    return readAnnounced(await file.readFile("utf8"));
  } finally {
    await file.close();
  }
}
