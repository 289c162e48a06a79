import { chmodSync } from "node:fs";
import { readFile, rm, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { AppError } from "../errors.ts";

/**
 * One server per data folder. The lock is the kernel's own on a file, taken through SQLite because Node
 * has no call for it: it ends with its process, so a killed holder never blocks the next start, a reused
 * process id never looks like a holder, and containers that share a volume see one another.
 * Rejected: a file with a process id (reuse, other pid namespaces); a listening socket in the folder
 * (several starters can each remove the dead one and win); an abstract socket (one network namespace).
 * Nothing else may open `lock.db`: closing any descriptor of a file drops the process's locks on it.
 */
export type DataFolderLock = { release(): Promise<void> };

const lockPath = (dataDir: string) => join(dataDir, "lock.db");
const holderPath = (dataDir: string) => join(dataDir, "lock.json");
/** Long enough for a process that only looks (`findLockHolder`) to release it, and too short for a person to notice. */
const patienceMs = 100;
const busy = 5;

export async function lockDataFolder(dataDir: string): Promise<DataFolderLock> {
  const file = new DatabaseSync(lockPath(dataDir), { timeout: patienceMs });
  try {
    // By name: everyone who can open it could lock it.
    chmodSync(lockPath(dataDir), 0o600);
    // Nothing is ever written, so there is nothing a journal on disk could bring back.
    file.exec("pragma journal_mode = memory; begin exclusive");
  } catch (error) {
    file.close();
    throw isBusy(error) ? await locked(dataDir) : error;
  }
  await writeFile(holderPath(dataDir), `${JSON.stringify({ pid: process.pid })}\n`, { mode: 0o600 });
  return {
    async release() {
      // Before the lock goes: afterwards the file may already be the next holder's.
      await rm(holderPath(dataDir), { force: true });
      file.close();
    },
  };
}

/** The process that holds the folder, or null when it is free. Makes nothing. */
export async function findLockHolder(dataDir: string): Promise<{ pid: number | null } | null> {
  if (!(await exists(lockPath(dataDir)))) return null;
  const file = new DatabaseSync(lockPath(dataDir), { readOnly: true, timeout: 0 });
  try {
    file.exec("select 1 from sqlite_master");
    return null;
  } catch (error) {
    if (isBusy(error)) return { pid: await readHolder(dataDir) };
    throw error;
  } finally {
    file.close();
  }
}

function isBusy(error: unknown): boolean {
  return error instanceof Error && "errcode" in error && error.errcode === busy;
}

async function exists(path: string): Promise<boolean> {
  try {
    await stat(path);
    return true;
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code;
    if (code === "ENOENT" || code === "ENOTDIR") return false;
    throw error;
  }
}

async function locked(dataDir: string): Promise<AppError> {
  const pid = await readHolder(dataDir);
  const who = pid === null ? "another process" : `process ${pid}`;
  const stop = pid === null ? "Stop it" : `Stop it (kill ${pid})`;
  return new AppError({
    code: "data_folder.locked",
    kind: "conflict",
    message:
      `Treadle already runs on the data folder ${dataDir}: ${who} has locked it. ` +
      `${stop}, or start this one on another folder with --data-dir or TREADLE_DATA_DIR.`,
    detail: { pid },
  });
}

async function readHolder(dataDir: string): Promise<number | null> {
  try {
    const { pid } = JSON.parse(await readFile(holderPath(dataDir), "utf8")) as { pid?: unknown };
    return typeof pid === "number" ? pid : null;
  } catch {
    // The holder is just writing it, or has just gone: the sentence then names no process.
    return null;
  }
}
