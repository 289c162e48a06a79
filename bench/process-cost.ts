import { readdirSync, readFileSync } from "node:fs";
import { descendantsOf } from "../tests/support/components/process-table.ts";

/** What a set of processes has used so far. Processor time in milliseconds; switches are wake-ups, ours and forced ones. */
export type Cost = { cpuMs: number; switches: number; memoryMb: number };

const nothing: Cost = { cpuMs: 0, switches: 0, memoryMb: 0 };

export function costOf(pids: readonly number[]): Cost {
  return pids.map(costOfOne).reduce(
    (sum, cost) => ({
      cpuMs: sum.cpuMs + cost.cpuMs,
      switches: sum.switches + cost.switches,
      memoryMb: sum.memoryMb + cost.memoryMb,
    }),
    nothing,
  );
}

/** Processes with all below them: a deployed server and its walls, a postmaster and its sessions. */
export function withDescendants(pids: readonly number[]): number[] {
  return pids.flatMap((pid) => [pid, ...descendantsOf(pid)]);
}

const tickMs = 10;

/** Processor time of a process's children that have ended: a postmaster has many, for sessions and for autovacuum. */
export function endedChildrenMs(pid: number): number {
  const [, after = ""] = readFileSync(`/proc/${pid}/stat`, "utf8").split(") ");
  const [user = 0, system = 0] = after.split(" ").slice(13, 15).map(Number);
  return (user + system) * tickMs;
}

function costOfOne(pid: number): Cost {
  try {
    let cpuMs = 0;
    let switches = 0;
    for (const task of readdirSync(`/proc/${pid}/task`)) {
      // Nanoseconds, where the clock ticks of `stat` are too coarse for an idle process.
      cpuMs += Number(readFileSync(`/proc/${pid}/task/${task}/schedstat`, "utf8").split(" ")[0]) / 1e6;
      const status = readFileSync(`/proc/${pid}/task/${task}/status`, "utf8");
      for (const [, count] of status.matchAll(/ctxt_switches:\s+(\d+)/g)) switches += Number(count);
    }
    const memoryKb = /^Pss:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/smaps_rollup`, "utf8"))?.[1] ?? 0;
    return { cpuMs, switches, memoryMb: Number(memoryKb) / 1024 };
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === "ENOENT" || code === "ESRCH") return nothing;
    throw error;
  }
}
