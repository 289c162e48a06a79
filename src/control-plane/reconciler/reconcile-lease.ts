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
export function createReconcileLease(options: ReconcileLeaseOptions) {
  const { database, logger, leaseMs = 15_000, renewMs = 4_000 } = options;
  const owner = randomUUID();
  let held: Lease<string> | undefined;
  let losing: Promise<void> = Promise.resolve();
  let stopping = false;

  const describeSelf = async (): Promise<LeaseOwner> => {
    const started = (await identify(process.pid))?.started ?? "";
    return { owner, host: hostname(), pid: process.pid, pidStarted: started };
  };

  const keeper = new LeaseKeeper<string>({
    leaseMs,
    renewEveryMs: renewMs,
    renew: async () =>
      new Set((await takeLease(database.sql, await describeSelf(), null, leaseMs)) ? [owner] : []),
    errorOf: leaseOver,
    onEnd: (_owner, end) => logger.error(endings[end]),
    onRenewFailed: (error) => logger.warn({ err: error }, "the lease on deployments could not be renewed"),
  });

  const loop = new WakeLoop({
    look,
    rules: { heartbeatMs: renewMs, maxRetryMs: renewMs },
    onFailure: failed,
  });

  async function look(): Promise<null> {
    if (held) return null;
    // What was begun under the last lease has ended before anything begins under the next.
    await losing;
    const until = keeper.until();
    const holder = await readLease(database.sql);
    const free = holder === undefined || holder.owner === owner || holder.expired || (await isGone(holder));
    if (!free) return null;
    const taken = await takeLease(database.sql, await describeSelf(), holder?.owner ?? null, leaseMs);
    if (taken) await begin(until);
    return null;
  }

  /** Renewed from here on: there may be many servers to find again. */
  async function begin(until: number): Promise<void> {
    const lease = keeper.hold(owner, until);
    try {
      await options.onTaken(lease.require);
      lease.require();
      held = lease;
      lease.stop.signal.addEventListener("abort", () => lose(lease), { once: true });
    } catch (error) {
      // Whoever can do the work may have it; this process tries again, too.
      keeper.drop(lease);
      await options.onLost();
      await dropLease(database.sql, owner);
      throw error;
    }
  }

  function lose(lease: Lease<string>): void {
    keeper.drop(lease);
    held = undefined;
    if (stopping) return;
    losing = options.onLost().catch(failed);
    loop.wake();
  }

  async function isGone(holder: { host: string; pid: number; pidStarted: string }): Promise<boolean> {
    return holder.host === hostname() && !(await isAlive({ pid: holder.pid, started: holder.pidStarted }));
  }

  function failed(error: unknown): void {
    logger.error({ err: error }, "deployments are not reconciled at the moment, trying again");
  }

  return {
    /** What cannot be reconciled must not keep the rest of the platform from starting. */
    start: () => loop.lookNow(),
    holds: () => held !== undefined,
    /** Takes no lease any more; the one it holds is renewed until `stop`. */
    async stopTaking(): Promise<void> {
      stopping = true;
      await loop.stop();
      await losing;
    },
    async stop() {
      stopping = true;
      await loop.stop();
      keeper.stop();
      if (held) {
        keeper.drop(held);
        await dropLease(database.sql, owner);
      }
      held = undefined;
    },
  };
}

function leaseOver(): AppError {
  return new AppError({
    code: "deployment.lease_lost",
    kind: "conflict",
    message: "Deployments are reconciled by another process now.",
  });
}
