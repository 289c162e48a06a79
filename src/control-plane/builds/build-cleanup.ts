import { execFile } from "node:child_process";
import { readdir, readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { killGroup, type ProcessIdentity } from "../sandbox/process-table.ts";
import { stepFile } from "./build-step.ts";
import { userFile } from "./build-user.ts";
import { endUser } from "./left-processes.ts";

/** After a crash: ends what a build left running and removes its half-made folder. */
export async function clearLeftBuilds(folder: string): Promise<void> {
  const builds = join(folder, "builds");
  const names = await readdir(builds).catch((error: NodeJS.ErrnoException) => {
    if (error.code === "ENOENT") return [];
    throw error;
  });
  for (const name of names) {
    const work = join(builds, name);
    const note = await readFile(join(work, stepFile), "utf8").catch(() => null);
    if (note !== null) await endStep(note);
    const user = await readFile(join(work, userFile), "utf8").catch(() => null);
    if (user !== null && process.getuid?.() === 0) await endUserOf(user);
    await removeWork(work);
  }
}

/** The folder of a build that has ended, with names that Node cannot say: commands may make paths of any length. */
export async function removeWork(folder: string): Promise<void> {
  const asNamed = rm(folder, { recursive: true, force: true, maxRetries: 5 });
  await asNamed.catch(() => promisify(execFile)("rm", ["-rf", "--", folder], { cwd: "/" }));
}

async function endUserOf(note: string): Promise<void> {
  const uid = /"uid":(\d+)/.exec(note)?.[1];
  // Cut off while it was being written: nothing ran as this user yet.
  if (uid !== undefined && Number(uid) > 0) await endUser(Number(uid));
}

async function endStep(note: string): Promise<void> {
  let identity: ProcessIdentity;
  try {
    identity = JSON.parse(note) as ProcessIdentity;
  } catch {
    // Cut off while it was being written: the process had just begun and finds its folder gone.
    return;
  }
  await killGroup(identity);
}
