import { type MonotonicClock, monotonicClock } from "../monotonic-clock.ts";
import { within } from "../within.ts";

export type GraceStopOptions = {
  graceMs: number;
  /** No new work from here on. */
  stopTaking(): Promise<unknown>;
  /** The active work; read again each time, since the last claim may have added some. */
  underWay(): Iterable<Promise<unknown>>;
  /** Aborts what is left, and names it. */
  abort(): string[];
  /** Gives what has not ended back to others, as well as can be. */
  handBack?(): Promise<unknown>;
  /** The limit of each step beyond the grace: neither the database nor the work may delay a stop. */
  lastStepMs?: number;
  clock?: MonotonicClock;
};

const defaultLastStepMs = 400;

/** Takes nothing more, lets work finish within the grace, aborts the rest and hands it back; answers what it aborted. */
export async function graceStop(options: GraceStopOptions): Promise<{ interrupted: string[] }> {
  const { lastStepMs = defaultLastStepMs, clock = monotonicClock } = options;
  const deadline = clock.now() + options.graceMs;
  let hasEnded = false;
  const all = async () => {
    await Promise.allSettled(options.underWay());
    hasEnded = true;
  };
  await within(lastStepMs, options.stopTaking(), clock);
  await within(deadline - clock.now(), all(), clock);
  const interrupted = hasEnded ? [] : options.abort();
  if (interrupted.length > 0) await within(lastStepMs, all(), clock);
  if (options.handBack) await within(lastStepMs, options.handBack(), clock);
  return { interrupted };
}
