import { mkdir, readdir, readFile, rmdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { errorMessage } from "../../platform/errors.ts";
import type { Logger } from "../../platform/logger.ts";
import type { Mount } from "../sandbox/bubblewrap.ts";
import { maxProcesses } from "./instance.ts";
import type { Resources } from "./runtime.ts";

const mountedAt = "/sys/fs/cgroup";
const periodUs = 100_000;

/** Control groups of one tree for everything, or, as older machines have it, a tree for each kind of limit. */
export type Layout = {
  kind: "unified" | "separate";
  /** Which limits there are; of separate trees, which are mounted. */
  controllers: readonly string[];
};

/** A folder to make, and what to write into its files, in this order. */
export type Group = { folder: string; settings: [file: string, value: string][] };

/** What has to be set for a process to be limited; the process joins each group last. */
export function planGroups(layout: Layout, name: string, { memoryBytes, cpus }: Resources): Group[] {
  const quotaUs = cpus === null ? null : Math.max(1_000, Math.round(cpus * periodUs));
  // A limit that was not requested: without the controller, a server runs without it.
  const counts = layout.controllers.includes("pids");
  if (layout.kind === "separate") {
    return [
      ...(memoryBytes === null
        ? []
        : [group(`memory/treadle/${name}`, [["memory.limit_in_bytes", String(memoryBytes)]])]),
      ...(quotaUs === null
        ? []
        : [
            group(`cpu/treadle/${name}`, [
              ["cpu.cfs_period_us", String(periodUs)],
              ["cpu.cfs_quota_us", String(quotaUs)],
            ]),
          ]),
      ...(counts ? [group(`pids/treadle/${name}`, [["pids.max", String(maxProcesses)]])] : []),
    ];
  }
  const needed = [
    ...(memoryBytes === null ? [] : ["memory"]),
    ...(quotaUs === null ? [] : ["cpu"]),
    ...(counts ? ["pids"] : []),
  ];
  const missing = needed.filter((controller) => !layout.controllers.includes(controller));
  if (missing.length > 0) throw new Error(`cgroup v2 has no ${missing.join(" and no ")} controller here`);
  const handDown: [string, string] = ["cgroup.subtree_control", needed.map((name) => `+${name}`).join(" ")];
  const own: [string, string][] = [];
  if (memoryBytes !== null) own.push(["memory.max", String(memoryBytes)]);
  if (quotaUs !== null) own.push(["cpu.max", `${quotaUs} ${periodUs}`]);
  if (counts) own.push(["pids.max", String(maxProcesses)]);
  if (own.length === 0) return [];
  // A group may use only what the groups above it hand down.
  return [group("", [handDown]), group("treadle", [handDown]), group(`treadle/${name}`, own)];
}

const group = (folder: string, settings: Group["settings"]): Group => ({ folder, settings });

/** Null when the limits hold, or there are none; else why the server runs without them. */
export type LimitProcess = (name: string, pid: number, resources: Resources) => Promise<string | null>;

/**
 * Limits processes where the machine's control groups are writable. Elsewhere the reason is the machine's, so it is a
 * warning once: for the first server that asks for a limit, not for each.
 */
export function createProcessLimits(logger: Logger, root = mountedAt): LimitProcess {
  let warned = false;
  return async (name, pid, resources) => {
    const reason = await limitProcess(name, pid, resources, root);
    if (reason === null) return null;
    const facts = { instance: name, reason, ...resources };
    if (warned) logger.debug(facts, "the server runs without its limits of memory, CPU and processes");
    else {
      logger.warn(
        facts,
        "limits of memory, CPU and processes cannot be set on this machine: servers of deployments run without them",
      );
    }
    warned = true;
    return reason;
  };
}

/** Null when it was done, or nothing was to be done; else why it could not be. */
async function limitProcess(
  name: string,
  pid: number,
  resources: Resources,
  root: string,
): Promise<string | null> {
  try {
    for (const { folder, settings } of planGroups(await readLayout(root), name, resources)) {
      await mkdir(join(root, folder), { recursive: true });
      for (const [file, value] of settings) await writeFile(join(root, folder, file), value);
      if (folder.endsWith(name)) await writeFile(join(root, folder, "cgroup.procs"), String(pid));
    }
    return null;
  } catch (error) {
    return errorMessage(error);
  }
}

/** Where the kernel counts the processes of a group that it ended for want of memory: one of the two is there. */
const counters = [
  { folder: "memory/treadle", file: "memory.oom_control", seenIn: "memory" },
  { folder: "treadle", file: "memory.events", seenIn: "" },
];

/** What a sandboxed server sees of its group, as a container would: that count, so that it can say why a process of its was killed. */
export function memoryCounters(name: string): Mount[] {
  return counters.map(({ folder, file, seenIn }) => ({
    from: join(mountedAt, folder, name, file),
    to: join(mountedAt, seenIn, file),
    optional: true,
  }));
}

/** Whether the kernel ended a process of this group because the group had no memory left. */
export async function ranOutOfMemory(name: string, root = mountedAt): Promise<boolean> {
  for (const { folder, file } of counters) {
    // Neither is there where no limit could be set.
    const text = await readFile(join(root, folder, name, file), "utf8").catch(() => "");
    if (/^oom_kill [1-9]/m.test(text)) return true;
  }
  return false;
}

async function readLayout(root: string): Promise<Layout> {
  try {
    const text = await readFile(join(root, "cgroup.controllers"), "utf8");
    return { kind: "unified", controllers: text.trim().split(/\s+/) };
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error;
    return { kind: "separate", controllers: await readdir(root) };
  }
}

/** Empty groups are only clutter, so a failure to remove one is not reported. */
export async function releaseLimits(name: string): Promise<void> {
  for (const controller of ["", "memory", "cpu", "pids"]) {
    await rmdir(join(mountedAt, controller, "treadle", name)).catch(() => undefined);
  }
}
