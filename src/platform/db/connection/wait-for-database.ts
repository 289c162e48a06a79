import { setTimeout as delay } from "node:timers/promises";
import { AppError } from "../../errors.ts";
import type { Logger } from "../../logger.ts";
import type { Database } from "../database.ts";

/**
 * Waits until the database answers, at most `timeoutMs`; then the last error is thrown. A refusal
 * (wrong password, no such database) is thrown at once, since waiting does not cure it.
 */
export async function waitForDatabase(
  database: Pick<Database, "ping">,
  options: { timeoutMs: number; logger: Logger; signal?: AbortSignal },
): Promise<void> {
  const deadline = performance.now() + options.timeoutMs;
  for (let attempt = 0; ; attempt++) {
    try {
      await database.ping();
      return;
    } catch (error) {
      const pause = Math.min(1_000, 50 * 2 ** attempt);
      const curable = error instanceof AppError && error.retryable;
      if (!curable || performance.now() + pause > deadline) throw error;
      if (attempt === 0) options.logger.info({ reason: error.message }, "waiting for the database");
      await delay(pause, undefined, { signal: options.signal });
    }
  }
}
