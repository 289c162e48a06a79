import { setTimeout as delay } from "node:timers/promises";
import type { Clock } from "../../platform/clock.ts";
import type { Database } from "../../platform/db/database.ts";
import { errorMessage } from "../../platform/errors.ts";
import { occurrenceAt } from "../../platform/jobs/job.ts";
import { enqueue } from "../../platform/jobs/job-queue.ts";
import { every, type RecurringJob } from "../../platform/jobs/job-schedule.ts";
import type { Logger } from "../../platform/logger.ts";
import { cutLog, findLongLogs, placeBefore, pruneAfter, prunedAtOnce } from "./event-prune-store.ts";

export type EventPrunerOptions = {
  database: Database;
  clock: Clock;
  logger: Logger;
  /** How long the stream of a run can be joined again after its end. */
  keepMs: number;
  /** Events of the streaming protocol a thread keeps. */
  protocolEvents: number;
};

const kind = "agent.prune_events";
const roundMs = 60_000;
/** How far back an ordinary round looks; what was active then is left to the next whole round. */
const lookBackMs = 15 * 60_000;
const wholeEveryMs = 3_600_000;

/**
 * Keeps the event log bounded: streams of runs that are over, and the protocol's log of each thread. A round for each
 * minute in which runs ended, whichever process they ended in; where none did, only the whole round of every hour.
 */
export class EventPruner {
  readonly job: RecurringJob;
  readonly #options: EventPrunerOptions;
  #wholeAt = 0;
  /** For what ends before this a round is queued. */
  #queuedUntil = 0;

  constructor(options: EventPrunerOptions) {
    const { database, clock } = options;
    this.#options = options;
    this.job = every({
      ...{ kind, database, clock, everyMs: wholeEveryMs },
      handler: async ({ signal }) => {
        const now = clock.now().getTime();
        const isWhole = now - this.#wholeAt >= wholeEveryMs;
        await pruneEvents(options, { signal, whole: isWhole });
        if (isWhole) this.#wholeAt = now;
      },
    });
  }

  /** A run ended: its stream goes in the first minute in which nobody may join it any more. */
  async runEnded(): Promise<void> {
    const { database, clock, logger, keepMs } = this.#options;
    const now = clock.now().getTime();
    if (now < this.#queuedUntil) return;
    const round = occurrenceAt(new Date(now + keepMs + roundMs), roundMs);
    this.#queuedUntil = round.endsAt.getTime() - keepMs - roundMs;
    try {
      await enqueue(database.sql, {
        ...{ kind, runAt: round.runAt, idempotencyKey: round.key, keyExpiresAt: round.endsAt },
      });
    } catch (error) {
      // The next run to end, or the next whole round, makes up for it.
      this.#queuedUntil = 0;
      logger.debug({ reason: errorMessage(error) }, "a round of pruning could not be queued");
    }
  }
}

export async function pruneEvents(
  options: EventPrunerOptions,
  round: { signal: AbortSignal; whole: boolean },
): Promise<{ events: number; protocolEvents: number }> {
  const { database, clock, keepMs, protocolEvents, logger } = options;
  const endedBefore = new Date(clock.now().getTime() - keepMs);
  const from = round.whole ? null : new Date(endedBefore.getTime() - lookBackMs);
  const events = await pruneByAge(database, { from, endedBefore, signal: round.signal });
  let cut = 0;
  for (const threadId of await findLongLogs(database, { keep: protocolEvents, from })) {
    round.signal.throwIfAborted();
    cut += await cutLog(database.sql, threadId, protocolEvents);
  }
  if (events + cut > 0) logger.debug({ events, protocolEvents: cut }, "event log pruned");
  return { events, protocolEvents: cut };
}

/** Rests as long as it worked: those who wait for the database go first, also when there is much to do. */
async function pruneByAge(
  database: Database,
  { from, endedBefore, signal }: { from: Date | null; endedBefore: Date; signal: AbortSignal },
): Promise<number> {
  let deleted = 0;
  for (let place = placeBefore(from); ; ) {
    const begunAt = performance.now();
    const next = await pruneAfter(database, place, endedBefore);
    deleted += next?.deleted ?? 0;
    if (!next || next.looked < prunedAtOnce) return deleted;
    place = next;
    await delay(performance.now() - begunAt, undefined, { signal });
  }
}
