import { spawn } from "node:child_process";
import { readdir, readFile } from "node:fs/promises";
import { setTimeout as delay } from "node:timers/promises";
import { AppError } from "../../platform/errors.ts";

/** Set for every command of a build, and inherited by all processes it starts. */
export const stepMark = "BUILD_STEP_ID";

const rounds = 150;

/**
 * Ends every process of a user that only this build has, also those that left their process group, their session and
 * their parents. Throws while one is left: it could still change the result that is taken over.
 */
export async function endUser(uid: number): Promise<void> {
  for (let round = 0; round < rounds; round += 1) {
    const left = await processesOf((facts) => isOf(facts, uid));
    if (left.length === 0) return;
    // Sent as that user: the kernel signals all its processes at once, so none can escape by forking.
    await killAllOf(uid);
    for (const pid of left) kill(pid);
    await delay(20);
  }
  throw unkillable();
}

/**
 * If builds have no separate user, their processes are known only by a mark in the environment, which a program may
 * remove. Returns once no process with the mark is left.
 */
export async function endMarked(mark: string): Promise<void> {
  const text = `${stepMark}=${mark}`;
  for (let round = 0; round < rounds; round += 1) {
    const left = await processesOf(async (_facts, pid) =>
      (await readFile(`/proc/${pid}/environ`, "latin1").catch(() => "")).split("\0").includes(text),
    );
    if (left.length === 0) return;
    for (const pid of left) kill(pid);
    await delay(20);
  }
  throw unkillable();
}

async function processesOf(
  matches: (facts: string, pid: number) => boolean | Promise<boolean>,
): Promise<number[]> {
  const pids = (await readdir("/proc")).filter((name) => /^\d+$/.test(name)).map(Number);
  const found: number[] = [];
  for (const pid of pids) {
    if (pid === process.pid) continue;
    const facts = await readFile(`/proc/${pid}/status`, "latin1").catch(() => "");
    // One that only waits to be forgotten does nothing any more.
    if (facts === "" || /^State:\s+[ZX]/m.test(facts)) continue;
    if (await matches(facts, pid)) found.push(pid);
  }
  return found;
}

/** Real, effective, saved or file system user. */
function isOf(facts: string, uid: number): boolean {
  const ids = /^Uid:\s+(.*)$/m.exec(facts)?.[1]?.split(/\s+/) ?? [];
  return ids.includes(String(uid));
}

function killAllOf(uid: number): Promise<void> {
  return new Promise((resolve) => {
    const child = spawn("/bin/sh", ["-c", "kill -KILL -1"], {
      uid,
      gid: uid,
      cwd: "/",
      env: {},
      stdio: "ignore",
    });
    // Where it cannot even be started (too many processes already), each is ended by its number.
    child.once("error", () => resolve());
    child.once("close", () => resolve());
  });
}

function kill(pid: number): void {
  try {
    process.kill(pid, "SIGKILL");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ESRCH") throw error;
  }
}

function unkillable(): AppError {
  return new AppError({
    code: "build.processes_left",
    kind: "invalid",
    message:
      "Processes that this build started could not be ended, so its result is not used. Check its install and build commands for programs that restart themselves.",
  });
}
