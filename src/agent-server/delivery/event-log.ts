import { Batcher, outageRetries } from "../../platform/db/batch/batcher.ts";
import type { Database } from "../../platform/db/database.ts";
import { AppError } from "../../platform/errors.ts";
import { appendEvents, type EventRow, lastNumberOf } from "./event-store.ts";
import type { ThreadFeed } from "./thread-feed.ts";

/**
 * Commit, then deliver. Events go through one lane, so that what is committed earlier is delivered
 * earlier; every flush is fenced on (run, attempt), so a process that lost its lease writes nothing.
 */
export class EventLog {
  readonly #database: Database;
  readonly #batcher: Batcher<EventRow, boolean>;

  constructor(database: Database, feed: ThreadFeed) {
    this.#database = database;
    this.#batcher = new Batcher<EventRow, boolean>({
      name: "thread_events",
      lanes: 1,
      maxRows: 2_000,
      maxBytes: 4_000_000,
      retries: outageRetries,
      bytesOf: (row) => row.data.length + 200,
      flush: async (rows) => {
        const lost = await appendEvents(database, rows);
        if (lost.length === 0) {
          feed.publish(rows);
          return rows.map(() => true);
        }
        const refused = new Set(lost.map((lease) => `${lease.run_id}/${lease.attempt}`));
        const accepted = rows.map((row) => !refused.has(`${row.runId}/${row.attempt}`));
        feed.publish(rows.filter((_, index) => accepted[index]));
        return accepted;
      },
    });
  }

  /** Resolves once the event is durable and delivered to local readers. */
  async append(row: EventRow): Promise<void> {
    if (!(await this.#batcher.add(row))) throw leaseLost(row.runId);
  }

  /** The highest number in a run's own stream, where an earlier attempt may have written events. */
  lastNumberOf(run: { run_id: string; attempt: number }): Promise<number> {
    return run.attempt > 1 ? lastNumberOf(this.#database, run.run_id) : Promise.resolve(-1);
  }

  async drain(): Promise<void> {
    await this.#batcher.drain();
  }
}

export function leaseLost(runId: string): AppError {
  return new AppError({
    code: "run.lease_lost",
    kind: "conflict",
    message: `Run ${runId} is no longer held by this process; another one has taken it over.`,
  });
}

export function isLeaseLost(error: unknown): boolean {
  return error instanceof AppError && error.code === "run.lease_lost";
}
