import { AsyncLocalStorage } from "node:async_hooks";

/** Where the watchdog, which interrupts the main thread at any point, finds the run whose code is executing. */
export const runAtWorkKey = "treadle.run_at_work";

const runAtWork = new AsyncLocalStorage<string>();

/** Everything `work` does, and leads to, is done for that run. */
export function workFor<T>(runId: string, work: () => T): T {
  return runAtWork.run(runId, work);
}

/** Lets the watchdog ask. */
export function tellRunAtWork(): void {
  const place = globalThis as unknown as Record<symbol, () => string>;
  place[Symbol.for(runAtWorkKey)] = () => runAtWork.getStore() ?? "";
}
