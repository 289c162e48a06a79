import { readdir, readFile } from "node:fs/promises";
import { setTimeout as delay } from "node:timers/promises";

/** A process id alone may belong to somebody else later; together with the time it began it does not. */
export type ProcessIdentity = { pid: number; started: string };

type Stat = { state: string; group: number; started: string };

async function readStat(pid: number): Promise<Stat | null> {
  try {
    const text = await readFile(`/proc/${pid}/stat`, "utf8");
    // The name in brackets may hold anything, brackets included.
    const fields = text.slice(text.lastIndexOf(")") + 2).split(" ");
    return { state: fields[0]!, group: Number(fields[2]), started: fields[19]! };
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === "ENOENT" || code === "ESRCH") return null;
    throw error;
  }
}

export async function identify(pid: number): Promise<ProcessIdentity | null> {
  const stat = await readStat(pid);
  return stat === null || stat.state === "Z" ? null : { pid, started: stat.started };
}

export async function isAlive({ pid, started }: ProcessIdentity): Promise<boolean> {
  return (await identify(pid))?.started === started;
}

/** Every process of a group, those whose leader is gone included. */
async function membersOf(group: number): Promise<number[]> {
  const pids = (await readdir("/proc")).filter((name) => /^\d+$/.test(name)).map(Number);
  const stats = await Promise.all(pids.map(async (pid) => ({ pid, stat: await readStat(pid) })));
  return stats.filter(({ stat }) => stat?.group === group && stat.state !== "Z").map(({ pid }) => pid);
}

export function signalGroup(group: number, signal: NodeJS.Signals): void {
  try {
    process.kill(-group, signal);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ESRCH") throw error;
  }
}

/** Ends a group we made and waits until it is gone. A group whose number now belongs to others is left alone. */
export async function killGroup(leader: ProcessIdentity, signal: NodeJS.Signals = "SIGKILL"): Promise<void> {
  const now = await identify(leader.pid);
  if (now !== null && now.started !== leader.started) return;
  for (let round = 0; round < 200; round += 1) {
    if ((await membersOf(leader.pid)).length === 0) return;
    signalGroup(leader.pid, round < 100 ? signal : "SIGKILL");
    await delay(20);
  }
}
