import type { Area, StopOptions, Stopped, Worker } from "../platform/areas/area.ts";
import { Closers } from "../platform/closers.ts";
import { databaseTrouble } from "../platform/db/database-errors.ts";
import type { LifeState } from "../platform/http/probe-routes.ts";
import type { RunningServer } from "../platform/http/server/server.ts";

/** The one start and the one shutdown of a process, for any set of areas and workers. */
export class Lifecycle {
  readonly #closers = new Closers();
  readonly #workers: Worker[] = [];
  #server: RunningServer | undefined;
  #state: LifeState = "starting";

  get state(): LifeState {
    return this.#state;
  }

  /** Everything that was to be started is. */
  started(): void {
    if (this.#state === "starting") this.#state = "ready";
  }

  /** What others stand on is closed after them, in the reverse order of opening. */
  onClose(step: () => Promise<unknown>): void {
    this.#closers.push(step);
  }

  async startAreas(areas: readonly Area[], options: StopOptions): Promise<void> {
    for (const area of areas) {
      // Before: what an area that fails half-way has begun is to be ended as well.
      this.#closers.push(() => area.stop(options));
      await area.start();
    }
  }

  async startWorkers(workers: readonly Worker[]): Promise<void> {
    for (const worker of workers) {
      this.#workers.push(worker);
      await worker.start();
    }
  }

  serve(server: RunningServer): void {
    this.#server = server;
  }

  /**
   * First serves on while its clients move to other servers. Then one grace period for all: requests and the work of
   * every worker end in parallel; then the rest is closed.
   */
  async stop({ graceMs, leaveMs = 0 }: StopOptions & { leaveMs?: number }): Promise<Stopped> {
    this.#state = "leaving";
    if (leaveMs > 0) await this.#server?.takeLeave(leaveMs);
    const working = this.#workers.map((worker) => worker.stop({ graceMs }));
    const requests = this.#server?.close({ graceMs, streamsUntil: Promise.allSettled(working) });
    const ended = await Promise.allSettled([requests ?? { interrupted: [] }, ...working]);
    const failures = ended
      .filter((each) => each.status === "rejected")
      .map(({ reason }) => reason as unknown);
    await this.#closers.run().catch((error: unknown) => failures.push(error));
    const { defects, notes } = judge(failures);
    if (defects.length > 0) throw new AggregateError(defects, "Not everything could be stopped in order.");
    const interrupted = ended.flatMap((each) => (each.status === "fulfilled" ? each.value.interrupted : []));
    return { interrupted: [...interrupted, ...notes] };
  }
}

/**
 * A stop must come to its end while the database is away: what it would have noted there, others find out by leases
 * that are not renewed. Everything else that fails is a defect.
 */
function judge(failures: readonly unknown[]): { defects: unknown[]; notes: string[] } {
  const each = failures.flatMap(apart);
  const away = each.map(databaseTrouble).find((trouble) => trouble !== undefined);
  return {
    defects: each.filter((failure) => !databaseTrouble(failure)),
    notes: away ? [`the last notes of this process in the database. ${away.message}`] : [],
  };
}

function apart(failure: unknown): unknown[] {
  return failure instanceof AggregateError ? failure.errors.flatMap(apart) : [failure];
}
