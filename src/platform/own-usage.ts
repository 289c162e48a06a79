import { readFile } from "node:fs/promises";
import { join } from "node:path";

/** What a container, or this process where there is none, has used so far and holds now. */
export type OwnUsage = { cpuSeconds: number; memoryBytes: number };

const mountedAt = "/sys/fs/cgroup";

/**
 * Of the container, other processes in it included: a graph may run in a process of its own. Files of programs that the
 * kernel could forget at any time do not count.
 */
export async function readOwnUsage(root = mountedAt): Promise<OwnUsage> {
  return (await readUnified(root)) ?? (await readSeparate(root)) ?? ofThisProcess();
}

/** Control groups as one tree. The root of a machine has no such files. */
async function readUnified(root: string): Promise<OwnUsage | null> {
  const [cpu, held, kinds] = await readAll(root, ["cpu.stat", "memory.current", "memory.stat"]);
  const usedUs = numberIn(cpu, /^usage_usec (\d+)$/m);
  const bytes = numberIn(held, /^(\d+)$/m);
  if (usedUs === null || bytes === null) return null;
  const files = numberIn(kinds, /^inactive_file (\d+)$/m) ?? 0;
  return { cpuSeconds: usedUs / 1e6, memoryBytes: Math.max(0, bytes - files) };
}

/** As older machines have it, a tree for each kind of limit. */
async function readSeparate(root: string): Promise<OwnUsage | null> {
  const [cpu, held, kinds] = await readAll(root, [
    "cpuacct/cpuacct.usage",
    "memory/memory.usage_in_bytes",
    "memory/memory.stat",
  ]);
  const usedNs = numberIn(cpu, /^(\d+)$/m);
  const bytes = numberIn(held, /^(\d+)$/m);
  if (usedNs === null || bytes === null) return null;
  const files = numberIn(kinds, /^total_inactive_file (\d+)$/m) ?? 0;
  return { cpuSeconds: usedNs / 1e9, memoryBytes: Math.max(0, bytes - files) };
}

function ofThisProcess(): OwnUsage {
  const { user, system } = process.cpuUsage();
  return { cpuSeconds: (user + system) / 1e6, memoryBytes: process.memoryUsage.rss() };
}

async function readAll(root: string, names: readonly string[]): Promise<string[]> {
  // Which of the layouts there is shows in what can be read.
  return await Promise.all(names.map((name) => readFile(join(root, name), "utf8").catch(() => "")));
}

function numberIn(text: string | undefined, pattern: RegExp): number | null {
  const found = pattern.exec(text ?? "")?.[1];
  return found === undefined ? null : Number(found);
}
