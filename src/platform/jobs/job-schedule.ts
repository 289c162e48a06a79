import type { Clock } from "../clock.ts";
import type { Database } from "../db/database.ts";
import { type Occurrence, occurrenceAt } from "./job.ts";
import { type Enqueued, enqueue } from "./job-queue.ts";
import { deleteFinished } from "./job-store.ts";
import type { JobHandler } from "./job-worker.ts";

export type RecurringJobOptions = {
  database: Database;
  clock: Clock;
  kind: string;
  everyMs: number;
  handler: JobHandler;
  payload?: unknown;
  maxAttempts?: number;
};

/** `handler` goes into the worker's handlers under `kind`; `start` is called once by every process. */
export type RecurringJob = { kind: string; handler: JobHandler; start(): Promise<void> };

/**
 * A job once per period, for any number of processes and restarts. The current period's occurrence is queued at start,
 * unless it has run already. Each occurrence queues its successor before it does its work, so the chain survives a
 * failing handler. Periods in which nothing ran are not made up for.
 */
export function every(options: RecurringJobOptions): RecurringJob {
  const { database, clock, kind, everyMs } = options;
  const enqueueAt = (occurrence: Occurrence): Promise<Enqueued> =>
    enqueue(database.sql, {
      kind,
      payload: options.payload,
      runAt: occurrence.runAt,
      idempotencyKey: occurrence.key,
      keyExpiresAt: occurrence.endsAt,
      ...(options.maxAttempts !== undefined && { maxAttempts: options.maxAttempts }),
    });
  return {
    kind,
    async start() {
      await enqueueAt(occurrenceAt(clock.now(), everyMs));
    },
    async handler(context) {
      await enqueueAt(occurrenceAt(occurrenceAt(clock.now(), everyMs).endsAt, everyMs));
      await options.handler(context);
    },
  };
}

const dayMs = 24 * 60 * 60_000;
const pruneBatch = 1_000;

/** Deletes jobs that ended well (or were cancelled) more than `keepDays` ago; the dead stay. */
export async function pruneFinishedJobs(
  database: Database,
  input: { now: Date; keepDays: number; signal?: AbortSignal },
): Promise<number> {
  const before = new Date(input.now.getTime() - input.keepDays * dayMs);
  let deleted = 0;
  for (;;) {
    input.signal?.throwIfAborted();
    const count = await deleteFinished(database.sql, before, pruneBatch);
    deleted += count;
    if (count < pruneBatch) return deleted;
  }
}

export function pruneJob(options: { database: Database; clock: Clock; keepDays?: number }): RecurringJob {
  const { database, clock, keepDays = 7 } = options;
  return every({
    database,
    clock,
    kind: "jobs.prune",
    everyMs: 60 * 60_000,
    async handler({ signal }) {
      await pruneFinishedJobs(database, { now: clock.now(), keepDays, signal });
    },
  });
}
