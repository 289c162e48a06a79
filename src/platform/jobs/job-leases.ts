import type { Database } from "../db/database.ts";
import { AppError } from "../errors.ts";
import type { Logger } from "../logger.ts";
import { type Lease, LeaseKeeper } from "../work/lease-keeper.ts";
import type { LeasedJob } from "./job.ts";
import { extendLeases } from "./job-store.ts";

export type HeldJob = Lease<LeasedJob>;

export type JobLeasesOptions = {
  database: Database;
  logger: Logger;
  leaseMs: number;
  heartbeatMs: number;
  /** Its handler has returned and only its result is left to be written: it may be gone because it just was. */
  isSettling(job: LeasedJob): boolean;
};

const endings = {
  ended: "job lost: its lease could not be extended in time",
  lost: "job lost: its lease went to another worker",
};

export function createJobLeases(options: JobLeasesOptions): LeaseKeeper<LeasedJob> {
  const { database, logger, leaseMs } = options;
  return new LeaseKeeper<LeasedJob>({
    leaseMs,
    renewEveryMs: options.heartbeatMs,
    async renew(jobs) {
      const leases = jobs.map(({ id, leaseToken }) => ({ id, leaseToken }));
      const good = await extendLeases(database, leases, leaseMs);
      return new Set(jobs.filter((job) => good.has(job.leaseToken) || options.isSettling(job)));
    },
    errorOf: leaseLost,
    onEnd: (job, end) => logger.warn({ job: job.id, kind: job.kind }, endings[end]),
    onRenewFailed: (error) =>
      logger.warn({ err: error }, "job leases could not be extended, trying again at the next heartbeat"),
  });
}

export function leaseLost(job: LeasedJob): AppError {
  return new AppError({
    code: "job.lease_lost",
    kind: "conflict",
    message: `The ${job.kind} job ${job.id} belongs to another worker now; this attempt's result is not accepted.`,
  });
}
