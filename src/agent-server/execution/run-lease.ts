import { AppError } from "../../platform/errors.ts";

/**
 * Until when a run is ours, by this machine's monotonic clock. Reckoned from before the database was asked, so it is
 * over here before it is over there: whoever takes the run next finds nobody at work on it.
 */
export class RunLease {
  readonly #runId: string;
  readonly #onEnd: () => void;
  #until: number;

  constructor(options: { runId: string; until: number; onEnd(): void }) {
    this.#runId = options.runId;
    this.#until = options.until;
    this.#onEnd = options.onEnd;
  }

  get until(): number {
    return this.#until;
  }

  renew(until: number): void {
    this.#until = until;
  }

  get isOver(): boolean {
    return performance.now() >= this.#until;
  }

  end(): void {
    this.#onEnd();
  }

  /**
   * Throws, and stops the run, once it is over. Asked before every step and every write and not only by a timer: a
   * process that was stopped beyond its lease goes on where it stood, and its timers come later.
   */
  readonly require = (): void => {
    if (!this.isOver) return;
    this.#onEnd();
    throw new AppError({
      code: "run.lease_ended",
      kind: "conflict",
      message: `The lease of run ${this.#runId} ended before it could be renewed; this attempt must stop.`,
    });
  };
}
