import type { Database } from "../../platform/db/database.ts";
import type { Logger } from "../../platform/logger.ts";
import type { LogKind, LogLine } from "./log.ts";
import { insertLogs } from "./log-store.ts";

const flushMs = 150;
const maxWaiting = 5_000;

export type LogWriter = {
  write(line: LogLine): void;
  /** Everything written so far is stored when it resolves. */
  flush(): Promise<void>;
};

/** Gathers lines and stores them together, in order. A log that cannot be stored does not stop the work. */
export function createLogWriter(options: {
  database: Database;
  logger: Logger;
  place: { deploymentId: string; revisionId: string; kind: LogKind };
}): LogWriter {
  let waiting: LogLine[] = [];
  let dropped = 0;
  let timer: NodeJS.Timeout | undefined;
  let last: Promise<void> = Promise.resolve();

  const store = async () => {
    const lines = waiting;
    waiting = [];
    if (dropped > 0) {
      lines.push({
        at: new Date(),
        level: "WARNING",
        message: `${dropped} lines were left out: too many at once.`,
      });
      dropped = 0;
    }
    try {
      await insertLogs(options.database.sql, options.place, lines);
    } catch (error) {
      options.logger.warn({ err: error, ...options.place }, "log lines could not be stored");
    }
  };
  const flush = () => {
    clearTimeout(timer);
    timer = undefined;
    last = last.then(store);
    return last;
  };
  return {
    write(line) {
      if (waiting.length >= maxWaiting) dropped += 1;
      else waiting.push(line);
      timer ??= setTimeout(() => void flush(), flushMs);
    },
    flush,
  };
}
