import type { Clock } from "../../platform/clock.ts";
import type { Database } from "../../platform/db/database.ts";
import { AppError } from "../../platform/errors.ts";
import type { Caller } from "../../platform/http/access/caller.ts";
import * as store from "../desired-state/deployment-store.ts";
import { announceDeployment } from "../desired-state/revision-store.ts";
import { releaseDomains } from "../domains/domain-store.ts";
import type { DeploymentTracing } from "../tracing/deployment-tracing.ts";
import { deploymentNotFound, refused } from "./deployment-rules.ts";

export type DeploymentRemovalOptions = {
  database: Database;
  clock: Clock;
  tracing: Pick<DeploymentTracing, "removeProject">;
  /** How long the data of a deleted deployment is kept. */
  purgeAfterMs: number;
  /**
   * So that this process stops serving it before it receives the notification; the others receive it a moment later.
   */
  forgetRoute(deploymentId: string): void;
};

/** Marks deployments as deleted; the reconciler clears them away. */
export class DeploymentRemoval {
  readonly #options: DeploymentRemovalOptions;

  constructor(options: DeploymentRemovalOptions) {
    this.#options = options;
  }

  async remove(
    caller: Caller,
    id: string,
    { force, deleteTracingProject }: { force: boolean; deleteTracingProject: boolean },
  ): Promise<void> {
    const now = this.#options.clock.now();
    const name = await this.#options.database.transaction(async (tx) => {
      const row = await store.findDeployment(tx, caller.workspaceId, id, { deleted: true });
      if (!row || (row.deleted_at !== null && !force)) throw deploymentNotFound(id);
      if (row.deleted_at !== null) {
        await store.markPurgeable(tx, id, now);
        await announceDeployment(tx, id);
        return row.name;
      }
      if (force)
        throw refused("force is for a deployment that was deleted before. Delete it without force first.");
      const purgeAfter = new Date(now.getTime() + this.#options.purgeAfterMs);
      await store.markDeleted(tx, caller.workspaceId, id, { now, purgeAfter, deleteTracingProject });
      await releaseDomains(tx, caller.workspaceId, id);
      await announceDeployment(tx, id);
      return row.name;
    });
    this.#options.forgetRoute(id);
    // Gone for the caller now; once more when its servers have stopped, which may still send the last traces.
    if (deleteTracingProject) await this.#options.tracing.removeProject(caller.workspaceId, name);
  }

  /** Reports for each id whether it was there to be deleted. */
  async removeAll(caller: Caller, ids: string[]): Promise<{ deleted: string[]; not_found: string[] }> {
    const deleted: string[] = [];
    const missing: string[] = [];
    for (const id of new Set(ids)) {
      const list = await this.remove(caller, id, { force: false, deleteTracingProject: false }).then(
        () => deleted,
        (error: unknown) => {
          if (error instanceof AppError && error.kind === "not_found") return missing;
          throw error;
        },
      );
      list.push(id);
    }
    return { deleted, not_found: missing };
  }

  async refuseWhileAny(workspaceId: string): Promise<void> {
    const [first] = await store.listDeployments(this.#options.database.sql, workspaceId, {
      limit: 1,
      offset: 0,
    });
    if (!first) return;
    throw new AppError({
      code: "workspace.has_deployments",
      kind: "conflict",
      message: `The workspace still has deployments, for example ${first.name}. Delete them first.`,
    });
  }
}
