import { readdirSync, readFileSync } from "node:fs";
import { readdir, readFile } from "node:fs/promises";
import { waitUntil } from "./wait-until.ts";

export function isRunning(pid: number): boolean {
  try {
    // A zombie is gone in every way that matters to a test.
    return !/^State:\s+[ZX]/m.test(readFileSync(`/proc/${pid}/status`, "utf8"));
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code;
    if (code === "ENOENT" || code === "ESRCH") return false;
    throw error;
  }
}

function readAll(file: "status" | "cmdline"): { pid: number; text: string }[] {
  return readdirSync("/proc")
    .filter((entry) => /^\d+$/.test(entry))
    .flatMap((entry) => {
      try {
        return [{ pid: Number(entry), text: readFileSync(`/proc/${entry}/${file}`, "utf8") }];
      } catch (error) {
        const code = (error as NodeJS.ErrnoException).code;
        if (code === "ENOENT" || code === "ESRCH") return []; // it ended while the list was read
        throw error;
      }
    });
}

/** Processes with this text in their command line: how to find those that left their parent on purpose. */
export function processesNaming(text: string): number[] {
  return readAll("cmdline")
    .filter((entry) => entry.text.includes(text))
    .map(({ pid }) => pid);
}

/** Processes started by `pid`, directly or through its children, wherever they moved their session or group. */
export function descendantsOf(pid: number): number[] {
  const childrenOf = new Map<number, number[]>();
  for (const { pid: child, text } of readAll("status")) {
    const parent = Number(/^PPid:\s+(\d+)/m.exec(text)?.[1]);
    childrenOf.set(parent, [...(childrenOf.get(parent) ?? []), child]);
  }
  const found: number[] = [];
  const pending = [pid];
  for (let next = pending.pop(); next !== undefined; next = pending.pop()) {
    const children = childrenOf.get(next) ?? [];
    found.push(...children);
    pending.push(...children);
  }
  return found;
}

/** Signals a process that may be gone already. */
export function sendSignal(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ESRCH") throw error;
  }
}

/** Kills the listed processes and returns when they are gone. */
export async function killAll(pids: number[], timeoutMs = 10_000): Promise<void> {
  for (const pid of pids) sendSignal(pid, "SIGKILL");
  await waitUntil(() => pids.every((pid) => !isRunning(pid)), {
    what: `processes ${pids.join(", ")} to be gone after SIGKILL`,
    timeoutMs,
    intervalMs: 10,
  });
}

/** Command lines on this machine that hold this text; behind walls a process does not know its own number out here. */
export async function commandsWith(text: string): Promise<string[]> {
  const pids = (await readdir("/proc")).filter((name) => /^\d+$/.test(name));
  const all = await Promise.all(pids.map((pid) => readFile(`/proc/${pid}/cmdline`, "utf8").catch(() => "")));
  return all.filter((command) => command.includes(text));
}
