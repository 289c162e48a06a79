import { type MonotonicClock, monotonicClock } from "./monotonic-clock.ts";

/** Resolves when the work is settled, or after that time; a failure is handled by the code that awaits the work itself. */
export async function within(
  waitMs: number,
  work: Promise<unknown>,
  clock: MonotonicClock = monotonicClock,
): Promise<void> {
  const { promise: late, resolve } = Promise.withResolvers<void>();
  const callOff = clock.after(waitMs, resolve, { keepsAlive: true });
  await Promise.race([work.catch(() => undefined), late]);
  callOff();
}
