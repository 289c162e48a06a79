import { setImmediate as yieldToOthers } from "node:timers/promises";
import type { Clock } from "../../platform/clock.ts";
import type { Database } from "../../platform/db/database.ts";
import { AppError, errorMessage } from "../../platform/errors.ts";
import type { Logger } from "../../platform/logger.ts";
import { findDueTokens } from "./token-lease-store.ts";
import type { TokenRefresh } from "./token-refresh-service.ts";

const batchSize = 200;
const concurrency = 16;

/** Refreshes every token that is due, so that whoever reads one finds it fresh. */
export function createTokenRefreshWorker(options: {
  database: Database;
  clock: Clock;
  logger: Logger;
  refresh: TokenRefresh;
}) {
  const { database, clock, logger, refresh } = options;

  async function refreshOne(id: string): Promise<void> {
    try {
      await refresh.refreshDue(id);
    } catch (error) {
      // Written down as an event and tried again at the time the failure set; the others go on.
      if (!(error instanceof AppError)) throw error;
      logger.warn(
        { token_id: id, code: error.code, reason: errorMessage(error) },
        "an OAuth token was not refreshed",
      );
    }
  }

  return {
    async refreshAll(signal: AbortSignal): Promise<number> {
      let done = 0;
      for (;;) {
        const due = await findDueTokens(database, clock.now(), batchSize);
        const queue = due.values();
        const run = async () => {
          for (const id of queue) {
            signal.throwIfAborted();
            await refreshOne(id);
            done += 1;
          }
        };
        await Promise.all(Array.from({ length: concurrency }, run));
        if (due.length < batchSize) return done;
        await yieldToOthers();
      }
    },
  };
}
