import { type MonotonicClock, monotonicClock } from "../monotonic-clock.ts";
import {
  defaultWakeRules,
  isBeatDue,
  type WakeRules,
  waitAfterFailure,
  waitAfterLook,
} from "./wake-rules.ts";

export type WakeLoopOptions = {
  /**
   * Takes what is due and begins it, and answers in how many milliseconds the next is due, by the database's clock, or
   * null. It returns when it has taken work; that work continues in the background. `woken`: by `wake`, neither by its
   * timer nor by its heartbeat.
   */
  look(woken: boolean): Promise<number | null>;
  rules?: Partial<WakeRules>;
  /** Where the heartbeat is not always the same: asked after each look, instead of the rule. */
  heartbeatMs?(): number;
  /** It sleeps until it is woken: there is neither a heartbeat nor anything due. */
  onIdle?(): void;
  /** A look failed; there will be another one after that time. */
  onFailure(error: unknown, waitMs: number): void;
  clock?: MonotonicClock;
};

/**
 * Looks when it is woken, when something is due and at its heartbeat; one look at a time. A wake-up that comes during a
 * look is followed by another look, since the first may have looked before the change. Sleeps otherwise.
 */
export class WakeLoop {
  readonly #options: WakeLoopOptions;
  readonly #rules: WakeRules;
  readonly #clock: MonotonicClock;
  #looking: Promise<void> | undefined;
  /** From before the first line of a look, which may itself wake, to its last; the promise settles a moment later. */
  #isLooking = false;
  /** The look that is to follow: for a wake-up, or as at a heartbeat. */
  #next: "woken" | "beat" | undefined;
  #failures = 0;
  /** The last look that was not for a wake-up; the first wake-up begins to count. */
  #beatAt: number | undefined;
  #stopped = false;
  #callOff: (() => void) | undefined;

  constructor(options: WakeLoopOptions) {
    this.#options = options;
    this.#rules = { ...defaultWakeRules, ...options.rules };
    this.#clock = options.clock ?? monotonicClock;
  }

  wake(): void {
    this.#request("woken");
  }

  /** Looks as at a heartbeat, which comes later for it. */
  beat(): void {
    this.#request(this.#next ?? "beat");
  }

  /** Looks and waits for the result; a look already in progress may have begun too early and is not enough. */
  async lookNow(): Promise<void> {
    this.wake();
    await this.settled();
  }

  /** Resolves when no look is in progress. */
  async settled(): Promise<void> {
    while (this.#looking) await this.#looking;
  }

  /** Looks no more; resolves when the current look is over. */
  async stop(): Promise<void> {
    this.#stopped = true;
    this.#sleep(null);
    await this.settled();
  }

  #request(next: "woken" | "beat"): void {
    if (this.#stopped) return;
    this.#next = next;
    if (this.#isLooking) return;
    this.#isLooking = true;
    this.#sleep(null);
    const looking = this.#lookWhileWoken().finally(() => {
      if (this.#looking === looking) this.#looking = undefined;
    });
    this.#looking = looking;
  }

  async #lookWhileWoken(): Promise<void> {
    while (this.#next && !this.#stopped) {
      const isBeat = this.#next === "beat" || isBeatDue(this.#sinceBeatMs(), this.#rulesNow());
      this.#next = undefined;
      try {
        if (isBeat) this.#beatAt = this.#clock.now();
        const dueInMs = await this.#options.look(!isBeat);
        this.#failures = 0;
        if (!this.#next) this.#sleep(waitAfterLook(dueInMs, this.#rulesNow(), this.#sinceBeatMs()));
      } catch (error) {
        this.#failures += 1;
        const waitMs = waitAfterFailure(this.#failures, this.#rules);
        // Wake-ups that came meanwhile wait too: looking again at once would spin while the database is away.
        this.#next = undefined;
        this.#sleep(waitMs);
        this.#options.onFailure(error, waitMs);
      }
    }
    // Nothing may come between the last question whether it was woken and this.
    this.#isLooking = false;
    if (!this.#callOff && !this.#stopped) this.#options.onIdle?.();
  }

  #rulesNow(): WakeRules {
    const heartbeatMs = this.#options.heartbeatMs?.();
    return heartbeatMs === undefined ? this.#rules : { ...this.#rules, heartbeatMs };
  }

  #sinceBeatMs(): number {
    this.#beatAt ??= this.#clock.now();
    return this.#clock.now() - this.#beatAt;
  }

  #sleep(waitMs: number | null): void {
    this.#callOff?.();
    this.#callOff = undefined;
    if (waitMs === null || this.#stopped) return;
    this.#callOff = this.#clock.after(waitMs, () => {
      this.#callOff = undefined;
      this.beat();
    });
  }
}
