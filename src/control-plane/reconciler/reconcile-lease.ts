import { randomUUID } from "node:crypto";
import { hostname } from "node:os";
import type { Database } from "../../platform/db/database.ts";
import type { Logger } from "../../platform/logger.ts";
import { identify, isAlive } from "../runtimes/process-table.ts";
import { dropLease, readLease, takeLease } from "./reconcile-lease-store.ts";

const leaseMs = 15_000;
const renewMs = 4_000;

/**
 * Servers run on one machine, so one process watches them. When it dies another takes over: at once when both are
 * on the same machine and the holder can be seen to be gone, else when its lease ends.
 */
export function createReconcileLease(options: {
  database: Database;
  logger: Logger;
  onTaken(): Promise<void>;
  onLost(): Promise<void>;
}) {
  const { database, logger } = options;
  const owner = randomUUID();
  let held = false;
  let timer: NodeJS.Timeout | undefined;
  let turn: Promise<void> = Promise.resolve();
  let stopped = false;

  async function look(): Promise<void> {
    const started = (await identify(process.pid))?.started ?? "";
    const me = { owner, host: hostname(), pid: process.pid, pidStarted: started };
    const holder = await readLease(database.sql);
    const free = holder === undefined || holder.owner === owner || holder.expired || (await isGone(holder));
    const taken = free && (await takeLease(database.sql, me, holder?.owner ?? null, leaseMs));
    if (taken && !held) {
      try {
        await options.onTaken();
        held = true;
      } catch (error) {
        // Whoever can do the work may have it; this process tries again, too.
        await dropLease(database.sql, owner);
        throw error;
      }
    } else if (!taken && held) {
      held = false;
      logger.error("another process reconciles deployments now; this one stops doing so");
      await options.onLost();
    }
  }

  async function isGone(holder: { host: string; pid: number; pidStarted: string }): Promise<boolean> {
    return holder.host === hostname() && !(await isAlive({ pid: holder.pid, started: holder.pidStarted }));
  }

  const failed = (error: unknown) =>
    logger.error({ err: error }, "deployments are not reconciled at the moment, trying again");

  const next = () => {
    if (stopped) return;
    timer = setTimeout(() => {
      turn = look().catch(failed).then(next);
    }, renewMs);
    timer.unref();
  };

  return {
    /** What cannot be reconciled must not keep the rest of the platform from starting. */
    async start() {
      await look().catch(failed);
      next();
    },
    holds: () => held,
    async stop() {
      stopped = true;
      clearTimeout(timer);
      await turn;
      if (held) await dropLease(database.sql, owner);
      held = false;
    },
  };
}
