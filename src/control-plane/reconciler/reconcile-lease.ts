import { randomUUID } from "node:crypto";
import { hostname } from "node:os";
import type { Database } from "../../platform/db/database.ts";
import type { Logger } from "../../platform/logger.ts";
import { type Lease, LeaseKeeper } from "../../platform/work/lease-keeper.ts";
import { WakeLoop } from "../../platform/work/wake-loop.ts";
import { leaseOver, type ReconcileFence } from "../desired-state/reconcile-fence.ts";
import { identify, isAlive } from "../sandbox/process-table.ts";
import { dropLease, type LeaseOwner, readLease, renewLease, takeLease } from "./reconcile-lease-store.ts";

export type ReconcileLeaseOptions = {
  database: Database;
  logger: Logger;
  /** Open while the lease is held, for what is written under it. */
  fence: ReconcileFence;
  /** `requireLease` throws once the lease is over; to be asked before everything that is done to a deployment. */
  onTaken(requireLease: () => void): Promise<void>;
  /** Begins nothing more and stops what is running. */
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
 * lease stops by its own clock before it ends for the others. Each time it is taken it has a new owner, by which the
 * fence knows what was begun before.
 */
export class ReconcileLease {
  readonly #options: ReconcileLeaseOptions;
  readonly #leaseMs: number;
  readonly #renewMs: number;
  readonly #loop: WakeLoop;
  #held: { keeper: LeaseKeeper<string>; lease: Lease<string> } | undefined;
  /** Its last tenure, which only this process can have ended properly. */
  #last: string | undefined;
  #losing: Promise<void> = Promise.resolve();
  #stopping = false;

  constructor(options: ReconcileLeaseOptions) {
    const { leaseMs = 15_000, renewMs = 4_000 } = options;
    this.#options = options;
    this.#leaseMs = leaseMs;
    this.#renewMs = renewMs;
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
    const { fence, database } = this.#options;
    fence.leave();
    const held = this.#held;
    this.#held = undefined;
    if (!held) return;
    held.keeper.stop();
    held.keeper.drop(held.lease);
    await dropLease(database.sql, held.lease.subject);
  }

  async #look(): Promise<null> {
    if (this.#held) return null;
    // What was begun under the last lease has ended before anything begins under the next.
    await this.#losing;
    const { sql } = this.#options.database;
    const owner = randomUUID();
    const holder = await readLease(sql);
    const free =
      holder === undefined || holder.owner === this.#last || holder.expired || (await isGone(holder));
    if (!free) return null;
    if (!(await takeLease(sql, await describeSelf(owner), holder?.owner ?? null, this.#leaseMs))) return null;
    this.#last = owner;
    // A write of the last holder that stood still may have held it up for as long as the lease: it begins now.
    const keeper = this.#createKeeper();
    const until = keeper.until();
    if (await renewLease(sql, owner, this.#leaseMs)) await this.#begin(keeper, keeper.hold(owner, until));
    return null;
  }

  /** Renewed from here on: there may be many servers to find again. */
  async #begin(keeper: LeaseKeeper<string>, lease: Lease<string>): Promise<void> {
    const { fence, database } = this.#options;
    const { subject: owner, require: requireLease } = lease;
    fence.enter({ token: owner, requireLease, leaseMs: this.#leaseMs, signal: lease.stop.signal });
    try {
      await this.#options.onTaken(lease.require);
      lease.require();
      this.#held = { keeper, lease };
      lease.stop.signal.addEventListener("abort", () => this.#lose(), { once: true });
    } catch (error) {
      // Another process may be able to do the work; this one tries again, too.
      keeper.drop(lease);
      fence.leave();
      await this.#options.onLost();
      await dropLease(database.sql, owner);
      throw error;
    }
  }

  #lose(): void {
    this.#held?.keeper.drop(this.#held.lease);
    this.#held = undefined;
    this.#options.fence.leave();
    if (this.#stopping) return;
    this.#losing = this.#options.onLost().catch((error: unknown) => this.#failed(error));
    this.#loop.wake();
  }

  /** One for each tenure: a renewal of the last one may still wait for a database that does not answer. */
  #createKeeper(): LeaseKeeper<string> {
    const { database, logger } = this.#options;
    const leaseMs = this.#leaseMs;
    return new LeaseKeeper<string>({
      leaseMs,
      renewEveryMs: this.#renewMs,
      renew: async ([owner]) => new Set((await renewLease(database.sql, owner!, leaseMs)) ? [owner!] : []),
      errorOf: () => leaseOver(),
      onEnd: (_owner, end) => logger.error(endings[end]),
      onRenewFailed: (error) => logger.warn({ err: error }, "the lease on deployments could not be renewed"),
    });
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
