import type { MonotonicClock } from "../../src/platform/monotonic-clock.ts";

export type FakeMonotonicClock = MonotonicClock & {
  /** Lets time pass: timers that come due are called in their order, and what they begin gets to run. */
  advance(ms: number): Promise<void>;
  /** Time passes and nothing runs, as in a process that is stopped; what came due is called at the next `advance`. */
  freeze(ms: number): void;
  /** How long until the next timer, or null. */
  nextIn(): number | null;
};

type Timer = { at: number; run: () => void };

export function createFakeMonotonicClock(): FakeMonotonicClock {
  let now = 1_000;
  const timers = new Set<Timer>();
  const first = () => [...timers].sort((a, b) => a.at - b.at)[0];
  return {
    now: () => now,
    after(waitMs, run) {
      const timer = { at: now + Math.max(0, waitMs), run };
      timers.add(timer);
      return () => timers.delete(timer);
    },
    async advance(ms) {
      const end = now + ms;
      await settle();
      for (let timer = first(); timer && timer.at <= end; timer = first()) {
        now = Math.max(now, timer.at);
        timers.delete(timer);
        timer.run();
        await settle();
      }
      now = Math.max(now, end);
    },
    freeze(ms) {
      now += ms;
    },
    nextIn: () => {
      const timer = first();
      return timer ? Math.max(0, timer.at - now) : null;
    },
  };
}

/** Everything that only waits for promises has run when the loop comes round. */
const settle = () => new Promise((resolve) => setImmediate(resolve));
