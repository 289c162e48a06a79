import type { Database } from "../../platform/db/database.ts";
import { AppError, errorMessage } from "../../platform/errors.ts";
import type { Logger } from "../../platform/logger.ts";
import { type Lease, LeaseKeeper } from "../../platform/work/lease-keeper.ts";
import type { CancelAction, ClaimedRun } from "../runs/run.ts";
import { extendLeases } from "../runs/run-store.ts";
import type { StopReason } from "./run-hand-back.ts";

export type RunLease = Lease<ClaimedRun>;

export type RunLeasesOptions = {
  database: Database;
  logger: Logger;
  processId: string;
  leaseMs: number;
  /** Asked for in another process, which recorded it in the row. */
  onCancel(run: ClaimedRun, action: CancelAction): void;
};

/** The leases of the runs of this process. */
export function createRunLeases(options: RunLeasesOptions): LeaseKeeper<ClaimedRun> {
  const { database, logger, processId, leaseMs, onCancel } = options;
  return new LeaseKeeper<ClaimedRun>({
    leaseMs,
    renewEveryMs: leaseMs / 4,
    async renew(runs) {
      const ids = runs.map(({ run_id }) => run_id);
      const renewed = await extendLeases(database, ids, processId, leaseMs / 1000);
      const byId = new Map(renewed.map((lease) => [lease.run_id, lease]));
      const ours = runs.filter(({ run_id, attempt }) => byId.get(run_id)?.attempt === attempt);
      for (const run of ours) {
        const action = byId.get(run.run_id)?.cancel_action;
        if (action) onCancel(run, action);
      }
      return new Set(ours);
    },
    errorOf: leaseEnded,
    // Lost: either it has just ended, and this does not matter, or another process has it.
    reasonOf: (_run, end) => `lease_${end}` satisfies StopReason,
    onRenewFailed: (error) =>
      logger.warn({ reason: errorMessage(error) }, "could not renew the leases of running runs"),
  });
}

function leaseEnded({ run_id }: ClaimedRun): AppError {
  return new AppError({
    code: "run.lease_ended",
    kind: "conflict",
    message: `The lease of run ${run_id} ended before it could be renewed; this attempt must stop.`,
  });
}
