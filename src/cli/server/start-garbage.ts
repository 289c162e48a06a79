import { performance } from "node:perf_hooks";
import { getHeapStatistics, setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";

const lookMs = 200;
/** Of the time between two looks: a server that works is not held up. */
const idleShare = 0.1;
/** One that had no such moment by then has collected by itself. */
const givesUpMs = 60_000;
/** Collecting more would hold up the first requests: on a slow machine it takes 3 to 4 ms for each megabyte. */
const mostBytes = 64 * 1024 * 1024;

/**
 * Collects what a start has left, once, as soon as the process has nothing to do. By itself V8 collects after work, not
 * after a start: modules that were loaded leave a young generation of its full size and a fifth of the old one to
 * garbage, a quarter of what an idle server holds.
 */
export function collectStartGarbage(): void {
  const begunAt = performance.now();
  let before = performance.eventLoopUtilization();
  const timer = setInterval(() => {
    const now = performance.eventLoopUtilization();
    const isIdle = performance.eventLoopUtilization(now, before).utilization < idleShare;
    before = now;
    if (!isIdle && performance.now() - begunAt < givesUpMs) return;
    clearInterval(timer);
    if (isIdle && getHeapStatistics().used_heap_size < mostBytes) collect();
  }, lookMs);
  timer.unref();
}

/** Only a collection as before running out of memory shrinks the young generation. */
function collect(): void {
  const gc = globalThis.gc ?? borrowed();
  gc?.({ type: "major", flavor: "last-resort" });
}

/** Contexts that others make must not have it. */
function borrowed(): typeof globalThis.gc {
  setFlagsFromString("--expose-gc");
  try {
    // Somebody may have given it another name, with a flag of Node.
    return runInNewContext("typeof gc === 'function' ? gc : undefined") as typeof globalThis.gc;
  } finally {
    setFlagsFromString("--no-expose-gc");
  }
}
