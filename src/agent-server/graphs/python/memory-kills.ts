import { readFileSync } from "node:fs";

const mountedAt = "/sys/fs/cgroup";

/**
 * Distinguishes kills for lack of memory from others: the kernel counts those of a control group. All Python processes
 * of a server share one group, and this object.
 */
export class MemoryKills {
  readonly #files: readonly string[];
  #counted: number | null;

  constructor(files: readonly string[] = counterFiles(readText("/proc/self/cgroup") ?? "")) {
    this.#files = files;
    this.#counted = this.#count();
  }

  /** A process begins: nothing that was counted before is about it. */
  begin(): void {
    this.#counted = this.#count();
  }

  /** Whether a kill that was just seen is one of them; each counts once. Null where the machine does not say. */
  explainsKill(): boolean | null {
    const before = this.#counted;
    const now = this.#count();
    if (before === null || now === null) return null;
    if (now <= before) return false;
    this.#counted = before + 1;
    return true;
  }

  #count(): number | null {
    for (const file of this.#files) {
      const [, kills] = /^oom_kill (\d+)$/m.exec(readText(file) ?? "") ?? [];
      if (kills !== undefined) return Number(kills);
    }
    return null;
  }
}

/**
 * Where the kernel counts, by what `/proc/self/cgroup` says. Behind the walls of a sandbox or a container the group is
 * the root of what can be seen.
 */
export function counterFiles(groups: string, root = mountedAt): string[] {
  const files = groups.split("\n").flatMap((line) => {
    const [, controllers, path] = /^\d+:([^:]*):(\/.*)$/.exec(line) ?? [];
    if (path === undefined) return [];
    const place = path === "/" ? "" : path;
    if (controllers === "") return [`${root}${place}/memory.events`];
    return controllers!.split(",").includes("memory") ? [`${root}/memory${place}/memory.oom_control`] : [];
  });
  return [...new Set([...files, `${root}/memory/memory.oom_control`, `${root}/memory.events`])];
}

function readText(file: string): string | null {
  try {
    return readFileSync(file, "utf8");
  } catch {
    // Not on this machine, or not for this user: then nothing is known.
    return null;
  }
}
