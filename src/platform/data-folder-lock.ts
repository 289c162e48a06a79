import { randomUUID } from "node:crypto";
import { link, open, readFile, rename, rm, writeFile } from "node:fs/promises";
import { createConnection, createServer, type Server } from "node:net";
import { join } from "node:path";
import { AppError } from "./errors.ts";

/**
 * One server per data folder. The lock is a listening socket in the folder: the kernel closes it with
 * its process, so a killed holder never blocks the next start and a reused process id never looks like
 * a holder; and because it is a file, containers that share a volume see one another.
 * Rejected: a file with a process id (reuse, other pid namespaces), an abstract socket (one network
 * namespace, Linux only).
 */
export type DataFolderLock = { release(): Promise<void> };

const socketName = "lock.sock";
const holderName = "lock.json";
/** What `bind` takes on every platform, minus the end of string. */
const longestSocketPath = 103;

export async function lockDataFolder(dataDir: string): Promise<DataFolderLock> {
  return withShortPath(dataDir, async (folder) => {
    const mine = `lock-${process.pid}-${randomUUID().slice(0, 8)}.sock`;
    const server = await listen(join(folder, mine));
    try {
      await claim(dataDir, folder, mine);
    } catch (error) {
      await close(server);
      throw error;
    } finally {
      await rm(join(dataDir, mine), { force: true });
    }
    await writeFile(join(dataDir, holderName), `${JSON.stringify({ pid: process.pid })}\n`, { mode: 0o600 });
    return {
      async release() {
        // The names go first: once the socket is closed, another process may already own them.
        await rm(join(dataDir, holderName), { force: true });
        await rm(join(dataDir, socketName), { force: true });
        await close(server);
      },
    };
  });
}

/** The process that holds the folder, or null when it is free. */
export async function findLockHolder(dataDir: string): Promise<{ pid: number | null } | null> {
  const held = await withShortPath(dataDir, (folder) => isAlive(join(folder, socketName)));
  return held ? { pid: await readHolder(dataDir) } : null;
}

/** Gives our socket the lock's name; `link` fails when the name exists, so exactly one starter wins. */
async function claim(dataDir: string, folder: string, mine: string): Promise<void> {
  const lockPath = join(dataDir, socketName);
  // Each turn either wins, meets a live holder, or has removed one dead socket.
  for (;;) {
    try {
      await link(join(dataDir, mine), lockPath);
      return;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
    }
    if (await isAlive(join(folder, socketName))) throw await locked(dataDir);
    await removeDead(dataDir, folder);
  }
}

/** Moves the dead socket away before deleting it: a starter that was faster must not lose its live one. */
async function removeDead(dataDir: string, folder: string): Promise<void> {
  const aside = `dead-${randomUUID().slice(0, 8)}.sock`;
  try {
    await rename(join(dataDir, socketName), join(dataDir, aside));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return;
    throw error;
  }
  if (await isAlive(join(folder, aside))) {
    await rename(join(dataDir, aside), join(dataDir, socketName));
    throw await locked(dataDir);
  }
  await rm(join(dataDir, aside), { force: true });
}

async function locked(dataDir: string): Promise<AppError> {
  const pid = await readHolder(dataDir);
  const who = pid === null ? "another process" : `process ${pid}`;
  const stop = pid === null ? "Stop it" : `Stop it (kill ${pid})`;
  return new AppError({
    code: "data_folder.locked",
    kind: "conflict",
    message:
      `Treadle already runs on the data folder ${dataDir}: ${who} holds it. ` +
      `${stop}, or start this one on another folder with --data-dir or TREADLE_DATA_DIR.`,
    detail: { pid },
  });
}

async function readHolder(dataDir: string): Promise<number | null> {
  try {
    const { pid } = JSON.parse(await readFile(join(dataDir, holderName), "utf8")) as { pid?: unknown };
    return typeof pid === "number" ? pid : null;
  } catch {
    // The holder is just writing it, or has just gone: the sentence then names no process.
    return null;
  }
}

function isAlive(socketPath: string): Promise<boolean> {
  return new Promise((resolve, reject) => {
    const connection = createConnection(socketPath);
    connection.once("connect", () => {
      connection.destroy();
      resolve(true);
    });
    connection.once("error", (error: NodeJS.ErrnoException) => {
      if (error.code === "ECONNREFUSED" || error.code === "ENOENT") resolve(false);
      // A full backlog is a holder too busy to accept, not a dead one.
      else if (error.code === "EAGAIN") resolve(true);
      else reject(error);
    });
  });
}

function listen(socketPath: string): Promise<Server> {
  return new Promise((resolve, reject) => {
    const server = createServer((connection) => connection.destroy());
    server.once("error", reject);
    server.listen(socketPath, () => resolve(server.unref()));
  });
}

function close(server: Server): Promise<void> {
  return new Promise((resolve) => server.close(() => resolve()));
}

/** Socket addresses are short; a deep folder is reached through its open descriptor instead. */
async function withShortPath<T>(folder: string, work: (shortPath: string) => Promise<T>): Promise<T> {
  const longest = join(folder, `lock-${process.pid}-00000000.sock`);
  if (Buffer.byteLength(longest) <= longestSocketPath || process.platform !== "linux") return work(folder);
  const handle = await open(folder, "r");
  try {
    return await work(`/proc/self/fd/${handle.fd}`);
  } finally {
    await handle.close();
  }
}
