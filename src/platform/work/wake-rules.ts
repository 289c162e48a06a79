export type WakeRules = {
  /** The longest time without looking, should a wake-up get lost; null if another part covers lost wake-ups. */
  heartbeatMs: number | null;
  /** Work that is due but was not given to us is held by another process: look again soon, not at once. */
  minWaitMs: number;
  /** After a look that failed; doubles with each one. */
  firstRetryMs: number;
  maxRetryMs: number;
};

export const defaultWakeRules: WakeRules = {
  heartbeatMs: 30_000,
  minWaitMs: 50,
  firstRetryMs: 100,
  maxRetryMs: 5_000,
};

/** Timers of Node end at 2^31 ms; who sleeps for an hour may as well look. */
const maxSleepMs = 3_600_000;

/**
 * How long to sleep when something is due in `dueInMs`, or nothing is; null: until somebody wakes it. The heartbeat counts
 * from the last look that was not for a wake-up: however often it is woken, it comes in time.
 */
export function waitAfterLook(dueInMs: number | null, rules: WakeRules, sinceBeatMs = 0): number | null {
  const beatInMs = rules.heartbeatMs === null ? null : Math.max(0, rules.heartbeatMs - sinceBeatMs);
  if (dueInMs === null) return beatInMs;
  return Math.min(Math.max(dueInMs, rules.minWaitMs), beatInMs ?? maxSleepMs);
}

export function isBeatDue(sinceBeatMs: number, rules: WakeRules): boolean {
  return rules.heartbeatMs !== null && sinceBeatMs >= rules.heartbeatMs;
}

/** `failures` in a row, the last one included. */
export function waitAfterFailure(failures: number, rules: WakeRules): number {
  return Math.min(rules.maxRetryMs, rules.firstRetryMs * 2 ** (failures - 1));
}
