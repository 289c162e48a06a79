import { Writable } from "node:stream";
import { createLogger } from "../../src/platform/logger.ts";

/** A logger at the lowest level, and everything that was logged. */
export function keepLogs() {
  const lines: string[] = [];
  const destination = new Writable({
    write(chunk, _encoding, done) {
      lines.push(String(chunk));
      done();
    },
  });
  return { logger: createLogger({ level: "trace", destination }), text: () => lines.join("") };
}
