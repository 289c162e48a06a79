import { setTimeout as delay } from "node:timers/promises";
import { AppError } from "../../platform/errors.ts";

const retryMs = 1_000;
/** An hour. */
const maxRounds = 3_600;

/** Retries while the database is away: what happened must still be recorded. */
export async function untilRecorded<T>(work: () => Promise<T>): Promise<T> {
  for (let round = 0; ; round += 1) {
    try {
      return await work();
    } catch (error) {
      if (round === maxRounds || !(error instanceof AppError && error.retryable)) throw error;
      await delay(retryMs);
    }
  }
}
