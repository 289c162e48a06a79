import { setTimeout as delay } from "node:timers/promises";
import { AppError } from "../../errors.ts";
import type { Logger } from "../../logger.ts";

/**
 * Tries until the database answers, at most `timeoutMs`; then the last error is thrown. A refusal (wrong password, no
 * such database) is thrown at once, since waiting does not cure it.
 */
export async function waitForDatabase<Answer>(
  attempt: () => Promise<Answer>,
  options: { timeoutMs: number; logger: Logger; signal?: AbortSignal },
): Promise<Answer> {
  const deadline = performance.now() + options.timeoutMs;
  for (let failed = 0; ; failed++) {
    try {
      return await attempt();
    } catch (error) {
      const pause = Math.min(1_000, 50 * 2 ** failed);
      const curable = error instanceof AppError && error.retryable;
      if (!curable || performance.now() + pause > deadline) throw error;
      if (failed === 0) options.logger.info({ reason: error.message }, "waiting for the database");
      await delay(pause, undefined, { signal: options.signal });
    }
  }
}
