import type { Clock } from "../../platform/clock.ts";
import type { Database } from "../../platform/db/database.ts";
import { every, type RecurringJob } from "../../platform/jobs/job-schedule.ts";
import type { Logger } from "../../platform/logger.ts";
import { cutLog, deleteEndedRunEvents, findLongLogs } from "./event-prune-store.ts";

export type EventPrunerOptions = {
  database: Database;
  clock: Clock;
  logger: Logger;
  /** How long the stream of a run can be joined again after its end. */
  keepMs: number;
  /** Events of the streaming protocol a thread keeps. */
  protocolEvents: number;
};

const everyMs = 60_000;
const batch = 5_000;
const maxBatches = 200;
/** How far back an ordinary round looks; what was active then is left to the next whole round. */
const lookBackMs = 15 * 60_000;
const wholeEveryMs = 3_600_000;

/** Keeps the event log bounded: streams of runs that are over, and the protocol's log of each thread. */
export function eventPruneJob(options: EventPrunerOptions): RecurringJob {
  const { database, clock } = options;
  let wholeAt = 0;
  return every({
    kind: "agent.prune_events",
    database,
    clock,
    everyMs,
    handler: async ({ signal }) => {
      const now = clock.now().getTime();
      const isWhole = now - wholeAt >= wholeEveryMs;
      await pruneEvents(options, { signal, whole: isWhole });
      if (isWhole) wholeAt = now;
    },
  });
}

export async function pruneEvents(
  options: EventPrunerOptions,
  round: { signal: AbortSignal; whole: boolean },
): Promise<{ events: number; protocolEvents: number }> {
  const { database, clock, keepMs, protocolEvents, logger } = options;
  const endedBefore = new Date(clock.now().getTime() - keepMs);
  const from = round.whole ? null : new Date(endedBefore.getTime() - lookBackMs);
  let events = 0;
  for (let count = 0; count < maxBatches && !round.signal.aborted; count += 1) {
    const deleted = await deleteEndedRunEvents(database.sql, { from, endedBefore, limit: batch });
    events += deleted;
    if (deleted < batch) break;
  }
  let cut = 0;
  const long = { keep: protocolEvents, from, limit: 1_000 };
  for (const threadId of await findLongLogs(database.sql, long)) {
    round.signal.throwIfAborted();
    cut += await cutLog(database.sql, threadId, protocolEvents);
  }
  if (events + cut > 0) logger.debug({ events, protocolEvents: cut }, "event log pruned");
  return { events, protocolEvents: cut };
}
