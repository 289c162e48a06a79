import type { Database } from "../../../../platform/db/database.ts";
import type { Logger } from "../../../../platform/logger.ts";
import type { Retention } from "../../../runs/retention.ts";
import { deleteFeedbackOf } from "../../feedback-row-store.ts";
import type { RunPlace, RunRemoval } from "../../run-storage.ts";
import type { Partitions } from "../partitions/partition-service.ts";
import { applyRetention } from "./retention-service.ts";
import { deleteRunsOfProject, deleteRunsOfTraces } from "./run-removal-store.ts";

export type PostgresRunRemovalOptions = { database: Database; logger: Logger; partitions: Partitions };

export class PostgresRunRemoval implements RunRemoval {
  readonly #options: PostgresRunRemovalOptions;

  constructor(options: PostgresRunRemovalOptions) {
    this.#options = options;
  }

  removeOfProject(place: RunPlace, limit: number): Promise<number> {
    return deleteRunsOfProject(this.#options.database.sql, place, limit);
  }

  removeOfTraces(place: RunPlace, traceIds: readonly string[], limit: number): Promise<number> {
    return deleteRunsOfTraces(this.#options.database.sql, place, traceIds, limit);
  }

  removeFeedbackOf(place: RunPlace): Promise<void> {
    return deleteFeedbackOf(this.#options.database.sql, place);
  }

  removeExpired(retentions: readonly Retention[], now: Date, signal: AbortSignal): Promise<void> {
    return applyRetention(this.#options, retentions, now, signal);
  }
}
