import { readdirSync, readFileSync } from "node:fs";
import { readdir, readFile } from "node:fs/promises";
import { setTimeout as delay } from "node:timers/promises";

/** A process id alone may be reused later; together with its start time it is unique. */
export type ProcessIdentity = { pid: number; started: string };

type Stat = { state: string; group: number; started: string; cpuTicks: number; pages: number };

/** What the kernel counts in; the same on every Linux in use. */
const ticksPerSecond = 100;
const pageBytes = 4096;

function parseStat(text: string): Stat {
  // The name in brackets may hold anything, brackets included.
  const fields = text.slice(text.lastIndexOf(")") + 2).split(" ");
  return {
    state: fields[0]!,
    group: Number(fields[2]),
    started: fields[19]!,
    cpuTicks: Number(fields[11]) + Number(fields[12]),
    pages: Number(fields[21]),
  };
}

function isGone(error: unknown): boolean {
  const { code } = error as NodeJS.ErrnoException;
  return code === "ENOENT" || code === "ESRCH";
}

async function readStat(pid: number): Promise<Stat | null> {
  try {
    return parseStat(await readFile(`/proc/${pid}/stat`, "utf8"));
  } catch (error) {
    if (isGone(error)) return null;
    throw error;
  }
}

/** At once: the kernel answers from memory, and a hundred of these cost less than one that waits its turn. */
export function isAliveNow({ pid, started }: ProcessIdentity): boolean {
  try {
    const stat = parseStat(readFileSync(`/proc/${pid}/stat`, "utf8"));
    return stat.state !== "Z" && stat.started === started;
  } catch (error) {
    if (isGone(error)) return false;
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

/** Processor time and memory of each process with all its descendants. Reads those alone, however many others there are. */
export function treeUsages(
  roots: readonly number[],
): Map<number, { cpuSeconds: number; memoryBytes: number }> {
  return new Map(
    roots.flatMap((root) => {
      const usage = usageOf(root);
      return usage ? [[root, usage] as const] : [];
    }),
  );
}

function usageOf(pid: number): { cpuSeconds: number; memoryBytes: number } | null {
  try {
    const stat = parseStat(readFileSync(`/proc/${pid}/stat`, "utf8"));
    const sum = { cpuSeconds: stat.cpuTicks / ticksPerSecond, memoryBytes: stat.pages * pageBytes };
    for (const child of childrenOf(pid)) {
      const usage = usageOf(child);
      sum.cpuSeconds += usage?.cpuSeconds ?? 0;
      sum.memoryBytes += usage?.memoryBytes ?? 0;
    }
    return sum;
  } catch (error) {
    if (isGone(error)) return null;
    throw error;
  }
}

/** Any of its threads may have started one. */
function childrenOf(pid: number): number[] {
  return readdirSync(`/proc/${pid}/task`).flatMap((thread) =>
    readFileSync(`/proc/${pid}/task/${thread}/children`, "utf8").split(" ").filter(Boolean).map(Number),
  );
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

/**
 * Asks everything behind the walls of a sandbox to end, and not the process that waits outside for it: that would die
 * of it and take the answer along. Where nothing has begun behind them yet, there is nothing to wait for.
 */
export async function signalInside(leader: number, signal: NodeJS.Signals): Promise<void> {
  const inside = (await membersOf(leader)).filter((pid) => pid !== leader);
  // The first process of a sandbox only collects the others.
  if (inside.length <= 1) return signalGroup(leader, "SIGKILL");
  for (const pid of inside) signalProcess(pid, signal);
}

function signalProcess(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ESRCH") throw error;
  }
}

/** Whether it leads its process group, as everything started for an instance does. */
export async function leadsGroup(pid: number): Promise<boolean> {
  return (await readStat(pid))?.group === pid;
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
