import { type MonotonicClock, monotonicClock } from "../monotonic-clock.ts";

/** `ended`: it could not be renewed in time. `lost`: according to the database, another process has it. */
export type LeaseEnd = "ended" | "lost";

export type LeaseKeeperOptions<Subject> = {
  leaseMs: number;
  renewEveryMs: number;
  /** Renews all of them with one statement and answers those that are still ours. */
  renew(subjects: readonly Subject[]): Promise<ReadonlySet<Subject>>;
  /** What is thrown where the work asks whether it may go on. */
  errorOf(subject: Subject, end: LeaseEnd): Error;
  /** With what the work is aborted, when not with that error. */
  reasonOf?(subject: Subject, end: LeaseEnd): unknown;
  onEnd?(subject: Subject, end: LeaseEnd): void;
  /** The leases go on to their end; there will be another try at the next beat. */
  onRenewFailed(error: unknown): void;
  clock?: MonotonicClock;
};

type LeaseEndOptions<Subject> = Pick<LeaseKeeperOptions<Subject>, "errorOf" | "reasonOf" | "onEnd">;

/**
 * Until when something is ours, by this machine's monotonic clock. It is counted from before the query to the database,
 * so it ends here before it ends there: the next holder finds no other process working on it.
 */
export class Lease<Subject> {
  readonly subject: Subject;
  /** Aborts the work. */
  readonly stop: AbortController;
  readonly #clock: MonotonicClock;
  readonly #options: LeaseEndOptions<Subject>;
  #until: number;
  #end: LeaseEnd | undefined;

  constructor(
    subject: Subject,
    held: { until: number; stop: AbortController; clock: MonotonicClock; options: LeaseEndOptions<Subject> },
  ) {
    this.subject = subject;
    this.stop = held.stop;
    this.#clock = held.clock;
    this.#options = held.options;
    this.#until = held.until;
  }

  get until(): number {
    return this.#until;
  }

  /** How it came to its end; undefined while it is ours. */
  get end(): LeaseEnd | undefined {
    return this.#end ?? (this.#clock.now() >= this.#until ? "ended" : undefined);
  }

  get isOver(): boolean {
    return this.end !== undefined;
  }

  /**
   * Throws, and stops the work, once it is over. Asked before every step and not only by a timer: a process that was
   * stopped for longer than its lease continues where it was, and its timers fire later.
   */
  readonly require = (): void => {
    const { end } = this;
    if (end === undefined) return;
    this.finish(end);
    throw this.#options.errorOf(this.subject, end);
  };

  /** What has ended once does not begin again. */
  renew(until: number): void {
    if (!this.isOver) this.#until = Math.max(this.#until, until);
  }

  finish(end: LeaseEnd): void {
    if (this.#end !== undefined) return;
    this.#end = end;
    const { onEnd, errorOf, reasonOf = errorOf } = this.#options;
    onEnd?.(this.subject, end);
    this.stop.abort(reasonOf(this.subject, end));
  }

  /** The lease was taken away on purpose, for example because the work was cancelled. */
  giveUp(reason: unknown): void {
    this.#end ??= "lost";
    this.stop.abort(reason);
  }
}

/** The leases of one worker: renews them while there are any, and ends those that could not be renewed in time. */
export class LeaseKeeper<Subject> {
  readonly #options: LeaseKeeperOptions<Subject>;
  readonly #clock: MonotonicClock;
  readonly #held = new Map<Subject, Lease<Subject>>();
  #endTimer: { at: number; callOff: () => void } | undefined;
  #beat: (() => void) | undefined;
  #renewing = false;
  #stopped = false;

  constructor(options: LeaseKeeperOptions<Subject>) {
    const { leaseMs, renewEveryMs } = options;
    if (renewEveryMs * 2 > leaseMs) {
      throw new Error(`A lease of ${leaseMs} ms must outlive two heartbeats of ${renewEveryMs} ms.`);
    }
    this.#options = options;
    this.#clock = options.clock ?? monotonicClock;
  }

  /** To be asked before the database is: a lease that is taken or renewed now is ours until then. */
  until(): number {
    return this.#clock.now() + this.#options.leaseMs;
  }

  hold(subject: Subject, until: number, stop = new AbortController()): Lease<Subject> {
    const lease = new Lease(subject, { until, stop, clock: this.#clock, options: this.#options });
    this.#held.set(subject, lease);
    this.#watch(until);
    this.#beatLater();
    return lease;
  }

  /** Leaves its timers alone: they are for all, and find out by themselves that nothing is left. */
  drop(lease: Lease<Subject>): void {
    if (this.#held.get(lease.subject) === lease) this.#held.delete(lease.subject);
  }

  get held(): Lease<Subject>[] {
    return [...this.#held.values()];
  }

  /** One of them, now; it counts as lost when this returns and it is. */
  async renewNow(lease: Lease<Subject>): Promise<void> {
    await this.#renew([lease]);
  }

  /** Stops renewing: work whose lease is still held runs to its end. */
  stop(): void {
    this.#stopped = true;
    this.#beat?.();
    this.#beat = undefined;
  }

  #beatLater(): void {
    if (this.#stopped || this.#beat) return;
    this.#beat = this.#clock.after(this.#options.renewEveryMs, () => {
      this.#beat = undefined;
      if (this.#held.size === 0) return;
      this.#beatLater();
      void this.#renewAll();
    });
  }

  /**
   * One at a time: a database that does not answer must not gather them, and two statements for several rows each could
   * lock them in opposite orders and end in a deadlock.
   */
  async #renewAll(): Promise<void> {
    if (this.#renewing) return;
    this.#renewing = true;
    try {
      await this.#renew(this.held.filter((lease) => !lease.isOver));
    } catch (error) {
      this.#options.onRenewFailed(error);
    } finally {
      this.#renewing = false;
    }
  }

  async #renew(leases: readonly Lease<Subject>[]): Promise<void> {
    if (leases.length === 0) return;
    const until = this.until();
    const ours = await this.#options.renew(leases.map(({ subject }) => subject));
    for (const lease of leases) {
      // One that was dropped meanwhile may be missing because it has just come to its good end.
      if (this.#held.get(lease.subject) !== lease) continue;
      if (ours.has(lease.subject)) lease.renew(until);
      else lease.finish("lost");
    }
  }

  /** One timer for all, at the first end there may be; renewals only move ends to later times. */
  #watch(at: number): void {
    if (this.#endTimer && this.#endTimer.at <= at) return;
    this.#endTimer?.callOff();
    const callOff = this.#clock.after(at - this.#clock.now(), () => {
      this.#endTimer = undefined;
      this.#endOverdue();
    });
    this.#endTimer = { at, callOff };
  }

  #endOverdue(): void {
    let next = Number.POSITIVE_INFINITY;
    for (const lease of this.#held.values()) {
      if (lease.isOver) lease.finish("ended");
      else next = Math.min(next, lease.until);
    }
    if (next !== Number.POSITIVE_INFINITY) this.#watch(next);
  }
}
