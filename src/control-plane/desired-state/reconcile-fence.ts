import type { Database, Sql } from "../../platform/db/database.ts";
import { raw } from "../../platform/db/raw.ts";
import { AppError } from "../../platform/errors.ts";

type Tenure = { token: string; requireLease(): void; leaseMs: number; signal: AbortSignal };

/**
 * Lets only the process with the lease on deployments write about them: every transaction asserts the token of its
 * tenure. The row of the lease is locked until the commit, so no other process can take over in between. If a process
 * hangs in a transaction, the database ends it, after at most half of its lease.
 */
export class ReconcileFence {
  readonly #database: Database;
  #tenure: Tenure | undefined;

  constructor(database: Database) {
    this.#database = database;
  }

  /** From here on writes are those of this tenure; `requireLease` throws once it is over by this machine's clock. */
  enter(tenure: Tenure): void {
    this.#tenure = tenure;
  }

  leave(): void {
    this.#tenure = undefined;
  }

  /** Aborted when the tenure ends: for what takes long and is no use to others. */
  get signal(): AbortSignal {
    return this.#tenure?.signal ?? AbortSignal.abort(leaseOver());
  }

  async write<T>(work: (tx: Sql) => Promise<T>): Promise<T> {
    const tenure = this.#tenure;
    if (!tenure) throw leaseOver();
    tenure.requireLease();
    return this.#database.transaction(async (tx) => {
      const { rows } = await raw`
        select set_config('idle_in_transaction_session_timeout', ${String(Math.ceil(tenure.leaseMs / 2))}, true)
        from control_plane_lease where owner = ${tenure.token} for share`.execute(tx);
      if (rows.length === 0) throw leaseOver();
      return work(tx);
    });
  }
}

export function leaseOver(): AppError {
  return new AppError({
    code: "deployment.lease_lost",
    kind: "conflict",
    message: "Deployments are reconciled by another process now.",
  });
}

export function isLeaseOver(error: unknown): boolean {
  return error instanceof AppError && error.code === "deployment.lease_lost";
}
