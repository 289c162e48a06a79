import type { Database } from "../../platform/db/database.ts";
import type { ClaimedRun } from "../runs/run.ts";
import { extendLeases } from "../runs/run-store.ts";
import type { StopReason } from "./run-hand-back.ts";
import { RunLease } from "./run-lease.ts";

type Held = { run: ClaimedRun; stop: AbortController; lease: RunLease };

export type LeaseKeeperOptions = { database: Database; processId: string; leaseMs: number };

/** The leases of the runs of this process: renews them, and stops the runs whose lease could not be renewed in time. */
export class LeaseKeeper {
  readonly #options: LeaseKeeperOptions;
  readonly #held = new Map<string, Held>();
  #timer: NodeJS.Timeout | undefined;

  constructor(options: LeaseKeeperOptions) {
    this.#options = options;
  }

  hold(run: ClaimedRun, stop: AbortController): RunLease {
    const onEnd = () => stop.abort("lease_ended" satisfies StopReason);
    const lease = new RunLease({ runId: run.run_id, until: run.leaseUntil, onEnd });
    this.#held.set(run.run_id, { run, stop, lease });
    if (this.#timer === undefined) this.#watch(lease.until);
    return lease;
  }

  drop(runId: string): void {
    this.#held.delete(runId);
  }

  /** Beside those held, `others` of this process that wait for their hand-back. */
  async renew(others: readonly string[]): Promise<void> {
    const { database, processId, leaseMs } = this.#options;
    const before = [...this.#held.values()];
    if (before.length + others.length === 0) return;
    const until = performance.now() + leaseMs;
    const ids = [...before.map(({ run }) => run.run_id), ...others];
    const renewed = await extendLeases(database, ids, processId, leaseMs / 1000);
    const byId = new Map(renewed.map((lease) => [lease.run_id, lease]));
    for (const { run, stop, lease } of before) {
      const kept = byId.get(run.run_id);
      // Not ours any more: either it has just ended, which makes this moot, or somebody else has it.
      if (!kept || kept.attempt !== run.attempt) stop.abort("lease_lost" satisfies StopReason);
      else {
        if (!lease.isOver) lease.renew(until);
        if (kept.cancel_action) stop.abort(kept.cancel_action satisfies StopReason);
      }
    }
  }

  stop(): void {
    clearTimeout(this.#timer);
  }

  /** One timer for all: leases are only ever renewed to a later time than those that came before them. */
  #watch(until: number): void {
    this.#timer = setTimeout(() => this.#endOverdue(), Math.max(1, Math.ceil(until - performance.now())));
    this.#timer.unref();
  }

  #endOverdue(): void {
    this.#timer = undefined;
    const left = [...this.#held.values()].filter(({ lease }) => {
      if (lease.isOver) lease.end();
      return !lease.isOver;
    });
    if (left.length > 0) this.#watch(Math.min(...left.map(({ lease }) => lease.until)));
  }
}
