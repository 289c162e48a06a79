import type { Clock } from "../../platform/clock.ts";
import type { Database, Sql } from "../../platform/db/database.ts";
import { AppError } from "../../platform/errors.ts";
import { enqueue } from "../../platform/jobs/job-queue.ts";
import type { JobContext } from "../../platform/jobs/job-worker.ts";
import * as store from "./departure-store.ts";
import type { TokenRemoval } from "./token-removal-service.ts";

export const removeDepartedJobKind = "auth.remove_departed";
/** With the queue's pauses, about two hours: a provider may be down for that long. */
const maxAttempts = 20;

/** A user who is no longer a member, or, without a user, a whole workspace that was deleted. */
export type Departure = { workspaceId: string; userId: string | null };

type DeparturesOptions = {
  database: Database;
  clock: Clock;
  removal: TokenRemoval;
};

/** What happens to the tokens of people who leave. */
export class Departures {
  readonly #options: DeparturesOptions;

  constructor(options: DeparturesOptions) {
    this.#options = options;
  }

  /**
   * Part of the transaction that takes the access away: from its commit on the tokens cannot be used, and a job revokes
   * them at their providers.
   */
  async leave(tx: Sql, departure: Departure): Promise<void> {
    const now = this.#options.clock.now();
    await store.disableTokens(tx, departure, now);
    await store.deleteAuthorizations(tx, departure);
    await enqueue(tx, {
      kind: removeDepartedJobKind,
      // A person who comes back and connects again keeps the new tokens.
      payload: { ...departure, before: now.toISOString() },
      workspaceId: departure.workspaceId,
      maxAttempts,
    });
  }

  /** The job. What a provider does not revoke is tried again, and after the last attempt deleted here anyway. */
  async remove({ job, attempt, signal }: JobContext): Promise<void> {
    const { database, removal } = this.#options;
    const { before, ...departure } = job.payload as Departure & { before: string };
    const force = attempt >= maxAttempts;
    const source = departure.userId === null ? "workspace deleted" : "member removed";
    let failed: AppError | undefined;
    for (const id of await store.listDisabledTokens(database.sql, departure, new Date(before))) {
      signal.throwIfAborted();
      try {
        await removal.removeStored(id, { force, source });
      } catch (error) {
        if (!(error instanceof AppError)) throw error;
        // The other providers are not to wait for this one.
        failed = error;
      }
    }
    if (failed) throw notYet(failed);
    if (departure.userId === null) await store.deleteProviders(database.sql, departure.workspaceId);
  }
}

function notYet(cause: AppError): AppError {
  return new AppError({
    code: "token.departed_not_revoked",
    kind: "bad_gateway",
    message: `The token of a former member could not be revoked yet. ${cause.message}`,
    retryable: true,
    cause,
  });
}
