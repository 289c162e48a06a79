import type { Database } from "../../platform/db/database.ts";
import { databaseTrouble } from "../../platform/db/database-errors.ts";
import { errorMessage } from "../../platform/errors.ts";
import type { Logger } from "../../platform/logger.ts";
import type { ClaimedRun } from "../runs/run.ts";
import { handBackRuns } from "../runs/run-store.ts";
import { type HandBackReason, handBackWaitMs, handedBack } from "./run-hand-back.ts";

type HandBack = { run: ClaimedRun; reason: HandBackReason; dueAt: number };

export type HandBackQueueOptions = {
  database: Database;
  logger: Logger;
  processId: string;
  /** There is a run whose lease is to be renewed until it is handed back. */
  onAdded(): void;
  /** Runs are in the queue again, for this process or another one. */
  onDone(): void;
};

const firstRetryMs = 250;
const maxRetryMs = 5_000;

/** Gives runs back to the queue as soon as the database takes them: it is often its absence that they came back for. */
export class HandBackQueue {
  readonly #options: HandBackQueueOptions;
  readonly #waiting = new Map<string, HandBack>();
  #timer: NodeJS.Timeout | undefined;
  #sending: Promise<void> | undefined;
  #failures = 0;

  constructor(options: HandBackQueueOptions) {
    this.#options = options;
  }

  add(run: ClaimedRun, reason: HandBackReason): void {
    const dueAt = performance.now() + handBackWaitMs(reason, run.excused);
    this.#waiting.set(run.run_id, { run, reason, dueAt });
    this.#options.logger.info({ runId: run.run_id, reason }, "run handed back to the queue");
    this.#schedule();
    this.#options.onAdded();
  }

  get isWaiting(): boolean {
    return this.#waiting.size > 0;
  }

  /** Those that wait for their time to hand back; their leases are still ours. */
  get runIds(): string[] {
    return [...this.#waiting.keys()];
  }

  /** Everything at once, however long it was to wait; what the database does not take is left to its lease. */
  async flush(): Promise<void> {
    clearTimeout(this.#timer);
    await this.#sending;
    for (const each of this.#waiting.values()) each.dueAt = 0;
    await this.#send();
    clearTimeout(this.#timer);
  }

  #schedule(): void {
    if (this.#sending || this.#waiting.size === 0) return;
    clearTimeout(this.#timer);
    const next = Math.min(...[...this.#waiting.values()].map(({ dueAt }) => dueAt));
    const pause = this.#failures === 0 ? 0 : Math.min(maxRetryMs, firstRetryMs * 2 ** this.#failures);
    this.#timer = setTimeout(() => void this.#send(), Math.max(0, next - performance.now(), pause));
    this.#timer.unref();
  }

  #send(): Promise<void> {
    this.#sending ??= this.#sendDue().finally(() => {
      this.#sending = undefined;
      this.#schedule();
    });
    return this.#sending;
  }

  async #sendDue(): Promise<void> {
    const { database, logger, processId, onDone } = this.#options;
    const now = performance.now();
    const due = [...this.#waiting.values()].filter(({ dueAt }) => dueAt <= now);
    if (due.length === 0) return;
    try {
      await handBackRuns(
        database,
        due.map(({ run, reason }) => handedBack(run, reason)),
        processId,
      );
      this.#failures = 0;
      for (const { run } of due) this.#waiting.delete(run.run_id);
      onDone();
    } catch (error) {
      this.#failures += 1;
      // Anything else would fail for ever; the leases run out.
      if (!databaseTrouble(error)) for (const { run } of due) this.#waiting.delete(run.run_id);
      logger.warn({ reason: errorMessage(error), runs: due.length }, "runs could not be handed back yet");
    }
  }
}
