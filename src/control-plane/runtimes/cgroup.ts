import { access, constants, mkdir, rmdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { errorMessage } from "../../platform/errors.ts";
import type { Logger } from "../../platform/logger.ts";
import type { Resources } from "./runtime.ts";

const root = "/sys/fs/cgroup";
const periodUs = 100_000;

/** Limits a process where the machine's control groups are writable; elsewhere it says so once per start. */
export async function limitProcess(
  name: string,
  pid: number,
  resources: Resources,
  logger: Logger,
): Promise<void> {
  const { memoryBytes, cpus } = resources;
  if (memoryBytes === null && cpus === null) return;
  try {
    if (await canWrite(join(root, "cgroup.controllers"))) await limitUnified(name, pid, resources);
    else {
      if (memoryBytes !== null) {
        await limit("memory", name, pid, [["memory.limit_in_bytes", String(memoryBytes)]]);
      }
      if (cpus !== null) {
        await limit("cpu", name, pid, [
          ["cpu.cfs_period_us", String(periodUs)],
          ["cpu.cfs_quota_us", String(Math.max(1_000, Math.round(cpus * periodUs)))],
        ]);
      }
    }
  } catch (error) {
    logger.warn(
      { instance: name, reason: errorMessage(error) },
      "memory and CPU limits cannot be set on this machine",
    );
  }
}

async function limitUnified(name: string, pid: number, { memoryBytes, cpus }: Resources): Promise<void> {
  const settings: [string, string][] = [];
  // A group may use only what the groups above it hand down.
  await mkdir(join(root, "treadle"), { recursive: true });
  for (const above of [root, join(root, "treadle")]) {
    await writeFile(join(above, "cgroup.subtree_control"), "+memory +cpu");
  }
  if (memoryBytes !== null) settings.push(["memory.max", String(memoryBytes)]);
  if (cpus !== null)
    settings.push(["cpu.max", `${Math.max(1_000, Math.round(cpus * periodUs))} ${periodUs}`]);
  await limit("", name, pid, settings);
}

async function limit(
  controller: string,
  name: string,
  pid: number,
  settings: [string, string][],
): Promise<void> {
  const folder = join(root, controller, "treadle", name);
  await mkdir(folder, { recursive: true });
  for (const [file, value] of settings) await writeFile(join(folder, file), value);
  await writeFile(join(folder, "cgroup.procs"), String(pid));
}

/** Empty groups are only clutter, so a failure to remove one is not worth a word. */
export async function releaseLimits(name: string): Promise<void> {
  for (const controller of ["", "memory", "cpu"]) {
    await rmdir(join(root, controller, "treadle", name)).catch(() => undefined);
  }
}

async function canWrite(path: string): Promise<boolean> {
  return access(path, constants.W_OK).then(
    () => true,
    () => false,
  );
}
