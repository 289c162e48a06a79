import { readdir, readFile } from "node:fs/promises";
import { setTimeout as delay } from "node:timers/promises";

/** A process id alone may belong to somebody else later; together with the time it began it does not. */
export type ProcessIdentity = { pid: number; started: string };

type Stat = { state: string; group: number; started: string; cpuTicks: number; pages: number };

/** What the kernel counts in; the same on every Linux in use. */
const ticksPerSecond = 100;
const pageBytes = 4096;

async function readStat(pid: number): Promise<Stat | null> {
  try {
    const text = await readFile(`/proc/${pid}/stat`, "utf8");
    // The name in brackets may hold anything, brackets included.
    const fields = text.slice(text.lastIndexOf(")") + 2).split(" ");
    return {
      state: fields[0]!,
      group: Number(fields[2]),
      started: fields[19]!,
      cpuTicks: Number(fields[11]) + Number(fields[12]),
      pages: Number(fields[21]),
    };
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

async function readAll(): Promise<{ pid: number; stat: Stat | null }[]> {
  const pids = (await readdir("/proc")).filter((name) => /^\d+$/.test(name)).map(Number);
  return Promise.all(pids.map(async (pid) => ({ pid, stat: await readStat(pid) })));
}

/** Processor time and memory of each group with all its processes. */
export async function groupUsages(): Promise<Map<number, { cpuSeconds: number; memoryBytes: number }>> {
  const groups = new Map<number, { cpuSeconds: number; memoryBytes: number }>();
  for (const { stat } of await readAll()) {
    if (!stat) continue;
    const sum = groups.get(stat.group) ?? { cpuSeconds: 0, memoryBytes: 0 };
    sum.cpuSeconds += stat.cpuTicks / ticksPerSecond;
    sum.memoryBytes += stat.pages * pageBytes;
    groups.set(stat.group, sum);
  }
  return groups;
}

/** Every process of a group, those whose leader is gone included. */
async function membersOf(group: number): Promise<number[]> {
  const stats = await readAll();
  return stats.filter(({ stat }) => stat?.group === group && stat.state !== "Z").map(({ pid }) => pid);
}

export function signalGroup(group: number, signal: NodeJS.Signals): void {
  try {
    process.kill(-group, signal);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ESRCH") throw error;
  }
}

/** Ends every process of a user nobody else is. */
export async function killUser(uid: number): Promise<void> {
  for (let round = 0; round < 100; round += 1) {
    const pids = (await readdir("/proc")).filter((name) => /^\d+$/.test(name)).map(Number);
    const owned = await Promise.all(pids.map(async (pid) => ((await ownerOf(pid)) === uid ? [pid] : [])));
    const left = owned.flat();
    if (left.length === 0) return;
    for (const pid of left) {
      try {
        process.kill(pid, "SIGKILL");
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== "ESRCH") throw error;
      }
    }
    await delay(20);
  }
}

/** Null for a process that is gone, or only waits to be forgotten. */
async function ownerOf(pid: number): Promise<number | null> {
  const text = await readFile(`/proc/${pid}/status`, "utf8").catch(() => "");
  if (/^State:\s+Z/m.test(text)) return null;
  const uid = /^Uid:\s+(\d+)/m.exec(text)?.[1];
  return uid === undefined ? null : Number(uid);
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
