import type { Database } from "../../../../platform/db/database.ts";
import type { Logger } from "../../../../platform/logger.ts";
import type { Retention } from "../../../runs/retention.ts";
import type { RunRemoval } from "../../run-storage.ts";
import type { Partitions } from "../partitions/partition-service.ts";
import { applyRetention } from "./retention-service.ts";
import { deleteRunsOfProject, deleteRunsOfTraces } from "./run-removal-store.ts";

export type PostgresRunRemovalOptions = { database: Database; logger: Logger; partitions: Partitions };

export class PostgresRunRemoval implements RunRemoval {
  readonly #options: PostgresRunRemovalOptions;

  constructor(options: PostgresRunRemovalOptions) {
    this.#options = options;
  }

  removeOfProject(projectId: string, limit: number): Promise<number> {
    return deleteRunsOfProject(this.#options.database.sql, projectId, limit);
  }

  removeOfTraces(projectId: string, traceIds: readonly string[], limit: number): Promise<number> {
    return deleteRunsOfTraces(this.#options.database.sql, projectId, traceIds, limit);
  }

  removeExpired(retentions: readonly Retention[], now: Date, signal: AbortSignal): Promise<void> {
    return applyRetention(this.#options, retentions, now, signal);
  }
}
