import type { Clock } from "../../platform/clock.ts";
import type { Database } from "../../platform/db/database.ts";
import { everyDue, type RecurringJob } from "../../platform/jobs/job-schedule.ts";
import type { Logger } from "../../platform/logger.ts";
import { keepLatestCheckpoints } from "../checkpoints/checkpoint-maintenance-store.ts";
import {
  clearExpiry,
  deleteThreadEvents,
  deleteThreadRows,
  hasExpiredThreads,
  lockExpiredThreads,
} from "./thread-store.ts";

export type ThreadSweeperOptions = {
  database: Database;
  clock: Clock;
  logger: Logger;
  intervalMs: number;
  /** Threads dealt with at most per sweep. */
  limit: number;
};

/** Small enough that a sweep never holds many rows for long. */
const batchSize = 100;

/** Deletes expired threads, or reduces them to their latest state, as each one asked for. */
export function threadSweepJob(options: ThreadSweeperOptions): RecurringJob {
  const { database, clock, logger, intervalMs } = options;
  return everyDue({
    kind: "agent.sweep_threads",
    database,
    clock,
    logger,
    everyMs: intervalMs,
    isDue: () => hasExpiredThreads(database),
    handler: async ({ signal }) => {
      await sweepThreads(options, signal);
    },
  });
}

export async function sweepThreads(
  options: Pick<ThreadSweeperOptions, "database" | "logger" | "limit">,
  signal: AbortSignal,
): Promise<{ deleted: number; reduced: number }> {
  const done = { deleted: 0, reduced: 0 };
  let left = options.limit;
  while (left > 0 && !signal.aborted) {
    const batch = await sweepBatch(options.database, Math.min(left, batchSize));
    done.deleted += batch.deleted;
    done.reduced += batch.reduced;
    const count = batch.deleted + batch.reduced;
    if (count === 0) break;
    left -= count;
  }
  if (done.deleted + done.reduced > 0) options.logger.info(done, "expired threads swept");
  return done;
}

function sweepBatch(database: Database, limit: number): Promise<{ deleted: number; reduced: number }> {
  return database.transaction(async (tx) => {
    const expired = await lockExpiredThreads(tx, limit);
    const reduced = expired.filter((thread) => thread.ttl_strategy === "keep_latest");
    const deleted = expired.filter((thread) => thread.ttl_strategy !== "keep_latest");
    const ids = (threads: { thread_id: string }[]) => threads.map((thread) => thread.thread_id);
    if (deleted.length > 0) {
      await deleteThreadRows(tx, ids(deleted));
      await deleteThreadEvents(tx, ids(deleted));
    }
    if (reduced.length > 0) {
      await keepLatestCheckpoints(tx, ids(reduced));
      // Its next run sets a new time.
      await clearExpiry(tx, ids(reduced));
    }
    return { deleted: deleted.length, reduced: reduced.length };
  });
}
