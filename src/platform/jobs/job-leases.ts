import type { Database } from "../db/database.ts";
import { AppError } from "../errors.ts";
import type { Logger } from "../logger.ts";
import type { LeasedJob } from "./job.ts";
import { extendLeases } from "./job-store.ts";

export type HeldJob = {
  job: LeasedJob;
  controller: AbortController;
  /** Why this process may no longer finish the job. */
  lost: AppError | undefined;
  /** The handler has returned; only its result is left to be written. */
  settling: boolean;
  /** On the monotonic clock: past this moment another worker may own the job, whatever the last answer was. */
  goodUntilMs: number;
};

export type JobLeases = {
  hold(job: LeasedJob): HeldJob;
  drop(held: HeldJob): void;
  lose(held: HeldJob, reason: AppError): void;
  /** Extends one lease now; if it is gone, it counts as lost when this returns. */
  extend(held: HeldJob): Promise<void>;
  all(): HeldJob[];
  stop(): void;
};

export type JobLeasesOptions = { database: Database; logger: Logger; leaseMs: number; heartbeatMs: number };

/** Keeps the leases of one worker alive with one statement per beat, however many jobs it runs. */
export function createJobLeases({ database, logger, leaseMs, heartbeatMs }: JobLeasesOptions): JobLeases {
  const heldJobs = new Set<HeldJob>();
  let timer: NodeJS.Timeout | undefined;
  let beating = false;
  let stopped = false;

  const lose = (held: HeldJob, reason: AppError) => {
    if (held.lost !== undefined) return;
    held.lost = reason;
    held.controller.abort(reason);
  };

  // Two statements for several rows each could lock them in opposite orders and end in a deadlock. So only the
  // tick, of which one runs at a time, asks for many.
  const extendAll = async (asked: HeldJob[]) => {
    if (asked.length === 0) return;
    // Counted from before the request: the database's own count can only end later.
    const goodUntilMs = performance.now() + leaseMs;
    const leases = asked.map(({ job }) => ({ id: job.id, leaseToken: job.leaseToken }));
    const good = await extendLeases(database, leases, leaseMs);
    for (const held of asked) {
      if (good.has(held.job.leaseToken)) held.goodUntilMs = Math.max(held.goodUntilMs, goodUntilMs);
      // One that is being finished may well be gone because it just was.
      else if (heldJobs.has(held) && !held.settling) {
        logger.warn({ job: held.job.id, kind: held.job.kind }, "job lost: its lease went to another worker");
        lose(held, leaseLost(held.job));
      }
    }
  };

  const tick = async () => {
    // Checked apart from the request, which may hang on a dead connection.
    for (const held of heldJobs) {
      if (held.lost !== undefined || performance.now() < held.goodUntilMs) continue;
      logger.warn(
        { job: held.job.id, kind: held.job.kind },
        "job lost: its lease could not be extended in time",
      );
      lose(held, leaseLost(held.job));
    }
    if (beating) return;
    beating = true;
    try {
      await extendAll([...heldJobs].filter((held) => held.lost === undefined));
    } catch (error) {
      logger.warn({ err: error }, "job leases could not be extended, trying again at the next heartbeat");
    } finally {
      beating = false;
    }
  };

  return {
    hold(job) {
      const held: HeldJob = {
        job,
        controller: new AbortController(),
        lost: undefined,
        settling: false,
        goodUntilMs: performance.now() + leaseMs,
      };
      heldJobs.add(held);
      if (!stopped) timer ??= setInterval(() => void tick(), heartbeatMs);
      return held;
    },
    drop(held) {
      heldJobs.delete(held);
      if (heldJobs.size > 0) return;
      clearInterval(timer);
      timer = undefined;
    },
    lose,
    extend: (held) => extendAll([held]),
    all: () => [...heldJobs],
    stop() {
      stopped = true;
      clearInterval(timer);
      timer = undefined;
    },
  };
}

export function leaseLost(job: LeasedJob): AppError {
  return new AppError({
    code: "job.lease_lost",
    kind: "conflict",
    message: `The ${job.kind} job ${job.id} belongs to another worker now; this attempt's result is not accepted.`,
  });
}
