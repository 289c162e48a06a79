import { setImmediate as yieldToOthers } from "node:timers/promises";
import type { Clock } from "../../platform/clock.ts";
import type { Database } from "../../platform/db/database.ts";
import { AppError, errorMessage } from "../../platform/errors.ts";
import type { Logger } from "../../platform/logger.ts";
import { findDueTokens } from "./token-lease-store.ts";
import type { TokenRefresh } from "./token-refresh-service.ts";

const batchSize = 200;
const concurrency = 16;
/** A provider that failed so often in one round is left for the next: the others must not wait behind it. */
const failuresPerRound = 16;

type TokenRefreshWorkerOptions = {
  database: Database;
  clock: Clock;
  logger: Logger;
  refresh: TokenRefresh;
};

/** Refreshes every token that is due, so that readers find it fresh. */
export class TokenRefreshWorker {
  readonly #options: TokenRefreshWorkerOptions;

  constructor(options: TokenRefreshWorkerOptions) {
    this.#options = options;
  }

  /** Returns how many were looked after. */
  async refreshAll(signal: AbortSignal): Promise<number> {
    const { database, clock } = this.#options;
    const failures = new Map<string, number>();
    const isGivenUp = (provider: string) => (failures.get(provider) ?? 0) >= failuresPerRound;
    let done = 0;
    for (;;) {
      const exceptProviders = [...failures.keys()].filter(isGivenUp);
      const due = await findDueTokens(database, clock.now(), { exceptProviders, limit: batchSize });
      const queue = due.values();
      const run = async () => {
        for (const { id, provider } of queue) {
          signal.throwIfAborted();
          if (isGivenUp(provider)) continue;
          const isFine = await this.#refreshOne(id);
          failures.set(provider, isFine ? 0 : (failures.get(provider) ?? 0) + 1);
          done += 1;
        }
      };
      await Promise.all(Array.from({ length: concurrency }, run));
      if (due.length < batchSize) return done;
      await yieldToOthers();
    }
  }

  async #refreshOne(id: string): Promise<boolean> {
    const { refresh, logger } = this.#options;
    try {
      return await refresh.refreshDue(id);
    } catch (error) {
      // Written down as an event and tried again at the time the failure set; the others go on.
      if (!(error instanceof AppError)) throw error;
      const reason = errorMessage(error);
      logger.warn({ token_id: id, code: error.code, reason }, "an OAuth token was not refreshed");
      return error.kind === "not_found";
    }
  }
}
