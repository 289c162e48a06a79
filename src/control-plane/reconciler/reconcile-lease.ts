import { randomUUID } from "node:crypto";
import { hostname } from "node:os";
import type { Database } from "../../platform/db/database.ts";
import { AppError } from "../../platform/errors.ts";
import type { Logger } from "../../platform/logger.ts";
import { type Lease, LeaseKeeper } from "../../platform/work/lease-keeper.ts";
import { WakeLoop } from "../../platform/work/wake-loop.ts";
import { identify, isAlive } from "../sandbox/process-table.ts";
import { dropLease, type LeaseOwner, readLease, takeLease } from "./reconcile-lease-store.ts";

export type ReconcileLeaseOptions = {
  database: Database;
  logger: Logger;
  /** `requireLease` throws once the lease is over; to be asked before everything that is done to a deployment. */
  onTaken(requireLease: () => void): Promise<void>;
  /** Begins nothing more and ends what goes on. */
  onLost(): Promise<void>;
  leaseMs?: number;
  renewMs?: number;
};

const endings = {
  ended: "the lease on deployments could not be renewed in time; this process stops reconciling them",
  lost: "another process reconciles deployments now; this one stops doing so",
};

/**
 * Servers run on one machine, so one process watches them. When it dies another takes over: at once when both are
 * on the same machine and the holder can be seen to be gone, else when its lease ends. A holder that cannot renew the
 * lease stops by its own clock before it ends for the others.
 */
export class ReconcileLease {
  readonly #options: ReconcileLeaseOptions;
  readonly #leaseMs: number;
  readonly #owner = randomUUID();
  readonly #keeper: LeaseKeeper<string>;
  readonly #loop: WakeLoop;
  #held: Lease<string> | undefined;
  #losing: Promise<void> = Promise.resolve();
  #stopping = false;

  constructor(options: ReconcileLeaseOptions) {
    const { database, logger, leaseMs = 15_000, renewMs = 4_000 } = options;
    const owner = this.#owner;
    this.#options = options;
    this.#leaseMs = leaseMs;
    this.#keeper = new LeaseKeeper<string>({
      leaseMs,
      renewEveryMs: renewMs,
      renew: async () =>
        new Set((await takeLease(database.sql, await describeSelf(owner), null, leaseMs)) ? [owner] : []),
      errorOf: leaseOver,
      onEnd: (_owner, end) => logger.error(endings[end]),
      onRenewFailed: (error) => logger.warn({ err: error }, "the lease on deployments could not be renewed"),
    });
    this.#loop = new WakeLoop({
      look: () => this.#look(),
      rules: { heartbeatMs: renewMs, maxRetryMs: renewMs },
      onFailure: (error) => this.#failed(error),
    });
  }

  /** What cannot be reconciled must not keep the rest of the platform from starting. */
  start(): Promise<void> {
    return this.#loop.lookNow();
  }

  holds(): boolean {
    return this.#held !== undefined;
  }

  /** Takes no lease any more; the one it holds is renewed until `stop`. */
  async stopTaking(): Promise<void> {
    this.#stopping = true;
    await this.#loop.stop();
    await this.#losing;
  }

  async stop(): Promise<void> {
    this.#stopping = true;
    await this.#loop.stop();
    this.#keeper.stop();
    if (this.#held) {
      this.#keeper.drop(this.#held);
      await dropLease(this.#options.database.sql, this.#owner);
    }
    this.#held = undefined;
  }

  async #look(): Promise<null> {
    if (this.#held) return null;
    // What was begun under the last lease has ended before anything begins under the next.
    await this.#losing;
    const { sql } = this.#options.database;
    const owner = this.#owner;
    const until = this.#keeper.until();
    const holder = await readLease(sql);
    const free = holder === undefined || holder.owner === owner || holder.expired || (await isGone(holder));
    if (!free) return null;
    const taken = await takeLease(sql, await describeSelf(owner), holder?.owner ?? null, this.#leaseMs);
    if (taken) await this.#begin(until);
    return null;
  }

  /** Renewed from here on: there may be many servers to find again. */
  async #begin(until: number): Promise<void> {
    const lease = this.#keeper.hold(this.#owner, until);
    try {
      await this.#options.onTaken(lease.require);
      lease.require();
      this.#held = lease;
      lease.stop.signal.addEventListener("abort", () => this.#lose(lease), { once: true });
    } catch (error) {
      // Whoever can do the work may have it; this process tries again, too.
      this.#keeper.drop(lease);
      await this.#options.onLost();
      await dropLease(this.#options.database.sql, this.#owner);
      throw error;
    }
  }

  #lose(lease: Lease<string>): void {
    this.#keeper.drop(lease);
    this.#held = undefined;
    if (this.#stopping) return;
    this.#losing = this.#options.onLost().catch((error: unknown) => this.#failed(error));
    this.#loop.wake();
  }

  #failed(error: unknown): void {
    this.#options.logger.error({ err: error }, "deployments are not reconciled at the moment, trying again");
  }
}

async function describeSelf(owner: string): Promise<LeaseOwner> {
  const started = (await identify(process.pid))?.started ?? "";
  return { owner, host: hostname(), pid: process.pid, pidStarted: started };
}

async function isGone(holder: { host: string; pid: number; pidStarted: string }): Promise<boolean> {
  return holder.host === hostname() && !(await isAlive({ pid: holder.pid, started: holder.pidStarted }));
}

function leaseOver(): AppError {
  return new AppError({
    code: "deployment.lease_lost",
    kind: "conflict",
    message: "Deployments are reconciled by another process now.",
  });
}
