import type { Database } from "../../platform/db/database.ts";
import type { Logger } from "../../platform/logger.ts";
import type { LogLine, LogPlace } from "./log.ts";
import { insertLogs } from "./log-store.ts";

const flushMs = 150;
const maxWaiting = 5_000;

export type LogWriterOptions = {
  database: Database;
  logger: Logger;
  place: LogPlace;
};

/** Gathers lines and stores them together, in order. A log that cannot be stored does not stop the work. */
export class LogWriter {
  readonly #options: LogWriterOptions;
  #waiting: LogLine[] = [];
  #dropped = 0;
  #timer: NodeJS.Timeout | undefined;
  #last: Promise<void> = Promise.resolve();

  constructor(options: LogWriterOptions) {
    this.#options = options;
  }

  write(line: LogLine): void {
    if (this.#waiting.length >= maxWaiting) this.#dropped += 1;
    else this.#waiting.push(line);
    this.#timer ??= setTimeout(() => void this.flush(), flushMs);
  }

  /** Everything written so far is stored when it resolves. */
  flush(): Promise<void> {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#last = this.#last.then(() => this.#store());
    return this.#last;
  }

  async #store(): Promise<void> {
    const { database, logger, place } = this.#options;
    const lines = this.#waiting;
    this.#waiting = [];
    if (this.#dropped > 0) {
      lines.push({
        at: new Date(),
        level: "WARNING",
        origin: "platform",
        message: `${this.#dropped} lines were left out: too many at once.`,
      });
      this.#dropped = 0;
    }
    try {
      await insertLogs(database.sql, place, lines);
    } catch (error) {
      logger.warn({ err: error, ...place }, "log lines could not be stored");
    }
  }
}
