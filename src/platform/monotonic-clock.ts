/** Time that never jumps, and its one timer, as a port: rules about waiting and leases are tested without waiting. */
export type MonotonicClock = {
  /** Milliseconds since some moment of this process. */
  now(): number;
  /** Calls once, not before that time has passed; what it returns calls it off. */
  after(waitMs: number, run: () => void, options?: { keepsAlive?: boolean }): () => void;
};

export const monotonicClock: MonotonicClock = {
  now: () => performance.now(),
  after(waitMs, run, { keepsAlive = false } = {}) {
    const timer = setTimeout(run, Math.max(0, Math.ceil(waitMs)));
    if (!keepsAlive) timer.unref();
    return () => clearTimeout(timer);
  },
};
