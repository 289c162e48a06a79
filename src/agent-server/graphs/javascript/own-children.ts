import { readdirSync, readFileSync } from "node:fs";
import { setTimeout as delay } from "node:timers/promises";

const patienceMs = 2_000;
const lookMs = 5;

/**
 * Ends the children of this process that run that program, and waits until they are gone. Node has only the thread that
 * started a process wait for it: if that thread ends first, the process remains in the process table as long as this one
 * runs. Does nothing where the system does not list children.
 */
export async function endChildren(program: string): Promise<void> {
  const running = ownChildren().filter((pid) => programOf(pid) === program);
  for (const pid of running) endOne(pid);
  const until = performance.now() + patienceMs;
  const areLeft = () => {
    const left = new Set(ownChildren());
    return running.some((pid) => left.has(pid));
  };
  while (areLeft() && performance.now() < until) await delay(lookMs);
}

/** Also those that have ended and were not waited for. */
function ownChildren(): number[] {
  const threads = tryTo(() => readdirSync("/proc/self/task")) ?? [];
  return threads.flatMap((thread) => {
    const text = tryTo(() => readFileSync(`/proc/self/task/${thread}/children`, "utf8")) ?? "";
    return text.split(" ").filter(Boolean).map(Number);
  });
}

function programOf(pid: number): string | undefined {
  return tryTo(() => readFileSync(`/proc/${pid}/cmdline`, "utf8"))?.split("\0")[0];
}

/** What is gone, or listed nowhere on this system, cannot be read. */
function tryTo<T>(read: () => T): T | undefined {
  try {
    return read();
  } catch {
    return undefined;
  }
}

function endOne(pid: number): void {
  tryTo(() => process.kill(pid));
}
