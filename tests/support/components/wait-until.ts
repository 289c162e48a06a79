import { setTimeout as pause } from "node:timers/promises";

export interface WaitOptions {
  /** What is awaited, as it should read in "Timed out waiting for …". */
  what: string;
  timeoutMs: number;
  intervalMs?: number;
  /** Evidence for the error message, usually the last log lines. */
  evidence?: () => string;
}

/** Polls until `check` returns a value other than undefined, null or false; what it throws ends the wait. */
export async function waitUntil<T>(
  check: () => T | Promise<T>,
  options: WaitOptions,
): Promise<Exclude<T, undefined | null | false>> {
  const deadline = performance.now() + options.timeoutMs;
  for (;;) {
    const value = await check();
    if (value !== undefined && value !== null && value !== false) {
      return value as Exclude<T, undefined | null | false>;
    }
    if (performance.now() >= deadline) {
      const evidence = options.evidence?.() ?? "";
      throw new Error(
        `Timed out after ${options.timeoutMs} ms waiting for ${options.what}.${evidence && `\n${evidence}`}`,
      );
    }
    await pause(options.intervalMs ?? 50);
  }
}
