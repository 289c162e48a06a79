import type { Clock } from "../clock.ts";
import { errorMessage } from "../errors.ts";
import type { Logger } from "../logger.ts";
import type { Database, Statement } from "./database.ts";

const sampleEveryMs = 60_000;

export const timeStatement: Statement = {
  name: "clock_sample_1",
  text: "select extract(epoch from clock_timestamp())::float8 * 1000 as ms",
};

/**
 * The database's time, carried on by this process's monotonic clock. Due times and leases are compared by several
 * processes. If each used its own clock, one that is an hour off would be an hour late, or never rest.
 */
export class DatabaseClock implements Clock {
  readonly #database: Pick<Database, "background">;
  readonly #logger: Logger;
  #aheadMs: number;
  #timer: NodeJS.Timeout | undefined;

  constructor(options: { database: Pick<Database, "background">; logger: Logger }) {
    this.#database = options.database;
    this.#logger = options.logger;
    this.#aheadMs = Date.now() - performance.now();
  }

  async start(): Promise<void> {
    await this.#sample();
    this.#timer = setInterval(() => void this.#sampleAgain(), sampleEveryMs);
    this.#timer.unref();
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  now(): Date {
    return new Date(performance.now() + this.#aheadMs);
  }

  async #sample(): Promise<void> {
    const before = performance.now();
    const [row] = await this.#database.background<{ ms: number }>(timeStatement, []);
    const after = performance.now();
    this.#aheadMs = row!.ms - (before + after) / 2;
  }

  async #sampleAgain(): Promise<void> {
    try {
      await this.#sample();
    } catch (error) {
      this.#logger.debug(
        { reason: errorMessage(error) },
        "the database's time could not be read; the last one is used",
      );
    }
  }
}
