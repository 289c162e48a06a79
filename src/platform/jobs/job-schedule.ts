import type { Clock } from "../clock.ts";
import type { Database } from "../db/database.ts";
import { errorMessage } from "../errors.ts";
import type { Logger } from "../logger.ts";
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
export type RecurringJob = { kind: string; handler: JobHandler; start(): Promise<void>; stop?(): void };

/**
 * A job once per period, for any number of processes and restarts. The current period's occurrence is queued at start,
 * unless it has run already. Each occurrence queues its successor before it does its work, so the chain survives a
 * failing handler. Periods in which nothing ran are not made up for.
 */
export function every(options: RecurringJobOptions): RecurringJob {
  const { clock, kind, everyMs } = options;
  return {
    kind,
    async start() {
      await enqueueAt(options, occurrenceAt(clock.now(), everyMs));
    },
    async handler(context) {
      await enqueueAt(options, occurrenceAt(occurrenceAt(clock.now(), everyMs).endsAt, everyMs));
      await options.handler(context);
    },
  };
}

function enqueueAt(options: RecurringJobOptions, occurrence: Occurrence): Promise<Enqueued> {
  return enqueue(options.database.sql, {
    kind: options.kind,
    payload: options.payload,
    runAt: occurrence.runAt,
    idempotencyKey: occurrence.key,
    keyExpiresAt: occurrence.endsAt,
    ...(options.maxAttempts !== undefined && { maxAttempts: options.maxAttempts }),
  });
}

export type DueJobOptions = RecurringJobOptions & {
  logger: Logger;
  /** Whether there is anything to do: one question, over the connection that listens. */
  isDue(): Promise<boolean>;
};

/**
 * A job once per period in which there is something to do. Every process asks at its start and a period after each time,
 * so those that share a machine do not ask all at once; where there is nothing to do, no job is queued.
 */
export function everyDue(options: DueJobOptions): RecurringJob {
  return new DueJob(options);
}

class DueJob implements RecurringJob {
  readonly kind: string;
  readonly handler: JobHandler;
  readonly #options: DueJobOptions;
  #timer: NodeJS.Timeout | undefined;

  constructor(options: DueJobOptions) {
    this.kind = options.kind;
    this.handler = options.handler;
    this.#options = options;
  }

  async start(): Promise<void> {
    await this.#look();
    this.#timer = setInterval(() => void this.#lookAgain(), Math.min(this.#options.everyMs, dayMs));
    this.#timer.unref();
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  async #look(): Promise<void> {
    const { clock, everyMs } = this.#options;
    if (await this.#options.isDue()) await enqueueAt(this.#options, occurrenceAt(clock.now(), everyMs));
  }

  async #lookAgain(): Promise<void> {
    try {
      await this.#look();
    } catch (error) {
      const { kind, logger } = this.#options;
      logger.debug({ kind, reason: errorMessage(error) }, "what is due could not be read; asked again later");
    }
  }
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
