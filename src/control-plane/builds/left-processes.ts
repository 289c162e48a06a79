import { spawn } from "node:child_process";
import { readdir, readFile } from "node:fs/promises";
import { setTimeout as delay } from "node:timers/promises";
import { AppError } from "../../platform/errors.ts";

/** Set for every command of a build, and handed on to whatever it starts. */
export const stepMark = "BUILD_STEP_ID";

const rounds = 150;

/**
 * Ends every process of a user that nobody else is at this time, also those that left their group, their session and
 * their parents. Throws while one is left: a result must not be taken from under somebody who may still change it.
 */
export async function endUser(uid: number): Promise<void> {
  for (let round = 0; round < rounds; round += 1) {
    const left = await processesOf((facts) => isOf(facts, uid));
    if (left.length === 0) return;
    // By the user itself, the kernel goes through all of them at once: nobody can fork away from it.
    await killAllOf(uid);
    for (const pid of left) kill(pid);
    await delay(20);
  }
  throw unkillable();
}

/**
 * Where builds have no user of their own there is only the mark in their environment, which a program may take off.
 * Returns once none that carries it is left.
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
