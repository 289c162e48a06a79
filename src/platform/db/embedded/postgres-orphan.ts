import { execFile } from "node:child_process";
import { readFile, readlink, realpath, rm } from "node:fs/promises";
import { basename, join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { promisify } from "node:util";
import { AppError } from "../../errors.ts";
import type { Logger } from "../../logger.ts";

/**
 * Clears what a killed Treadle left behind: its server, still running on this folder, is shut down;
 * a pid file that names a dead or foreign process is removed. The caller holds the data folder's
 * lock, so a server on this folder has no living supervisor.
 */
export async function clearPostgresFolder(dataFolder: string, logger: Logger): Promise<void> {
  const pidFile = join(dataFolder, "postmaster.pid");
  const pid = await readPid(pidFile);
  if (pid === undefined) return;
  if (await isPostmasterOf(pid, dataFolder)) {
    logger.warn({ pid }, "stopping the PostgreSQL a killed Treadle left running");
    await shutDown(pid, dataFolder);
  }
  // Postgres itself would refuse to start when the number now belongs to any process of its user.
  if (!(await isPostmasterOf(pid, dataFolder))) await rm(pidFile, { force: true });
}

export async function readPid(pidFile: string): Promise<number | undefined> {
  const text = await readFile(pidFile, "utf8").catch((error: NodeJS.ErrnoException) => {
    if (error.code === "ENOENT") return "";
    throw error;
  });
  const pid = Number(text.split("\n")[0]);
  return Number.isInteger(pid) && pid > 1 ? pid : undefined;
}

/** A live postgres whose working folder is this cluster: nothing else is ever signalled. */
async function isPostmasterOf(pid: number, dataFolder: string): Promise<boolean> {
  if (!isAlive(pid)) return false;
  const folder = await realpath(dataFolder);
  if (process.platform === "linux") {
    try {
      const command = await readFile(`/proc/${pid}/cmdline`, "utf8");
      const program = basename(command.split("\0")[0] ?? "");
      return program === "postgres" && (await readlink(`/proc/${pid}/cwd`)) === folder;
    } catch {
      // Gone meanwhile, or another user's process we may not look into: not ours.
      return false;
    }
  }
  const { stdout } = await promisify(execFile)("ps", ["-o", "command=", "-p", String(pid)]).catch(() => ({
    stdout: "",
  }));
  return /\bpostgres\b/.test(stdout) && stdout.includes(folder);
}

async function shutDown(pid: number, dataFolder: string): Promise<void> {
  // Fast shutdown, then immediate: both leave a cluster that starts again.
  for (const [signal, waitMs] of [
    ["SIGINT", 20_000],
    ["SIGQUIT", 10_000],
  ] as const) {
    signalProcess(pid, signal);
    const deadline = performance.now() + waitMs;
    while (performance.now() < deadline) {
      if (!(await isPostmasterOf(pid, dataFolder))) return;
      await delay(20);
    }
  }
  throw new AppError({
    code: "database.start_failed",
    kind: "unavailable",
    retryable: false,
    message: `A PostgreSQL left over from an earlier start (process ${pid}) still uses ${dataFolder} and does not stop. Kill it (kill -QUIT ${pid}) and start again.`,
  });
}

function signalProcess(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ESRCH") throw error;
  }
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "EPERM";
  }
}
