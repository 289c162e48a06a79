import type { Clock } from "../../platform/clock.ts";
import type { Database, Sql } from "../../platform/db/database.ts";
import { AppError } from "../../platform/errors.ts";
import type { Caller } from "../../platform/http/access/caller.ts";
import type { Deployment } from "../desired-state/deployment.ts";
import { lockDeployment, saveDesiredState } from "../desired-state/deployment-store.ts";
import { announceDeployment } from "../desired-state/revision-store.ts";
import { deploymentNotFound } from "./deployment-rules.ts";
import type { DeploymentViews } from "./deployment-views.ts";
import type { DeploymentView } from "./deployment-wire.ts";

export type DeploymentPowerOptions = { database: Database; clock: Clock; views: DeploymentViews };

/** Stops, starts and restarts deployments: it writes what is wanted, and the reconciler brings it about. */
export class DeploymentPower {
  readonly #options: DeploymentPowerOptions;

  constructor(options: DeploymentPowerOptions) {
    this.#options = options;
  }

  stop(caller: Caller, id: string): Promise<DeploymentView> {
    return this.#change(caller, id, ({ desired_state }) =>
      desired_state === "stopped" ? undefined : { state: "stopped", restart: false },
    );
  }

  start(caller: Caller, id: string): Promise<DeploymentView> {
    return this.#change(caller, id, ({ desired_state }) =>
      desired_state === "running" ? undefined : { state: "running", restart: false },
    );
  }

  restart(caller: Caller, id: string): Promise<DeploymentView> {
    return this.#change(caller, id, ({ name, desired_state, active_revision_id }) => {
      if (desired_state === "stopped")
        throw notRunning(`The deployment ${name} is stopped. Start it instead.`);
      if (active_revision_id === null)
        throw notRunning(`The deployment ${name} has no running server yet, so there is nothing to restart.`);
      return { state: "running", restart: true };
    });
  }

  #change(
    caller: Caller,
    id: string,
    decide: (deployment: Deployment) => Wanted | undefined,
  ): Promise<DeploymentView> {
    const { database, clock, views } = this.#options;
    const load = async (tx: Sql) => {
      const found = await lockDeployment(tx, caller.workspaceId, id);
      if (!found) throw deploymentNotFound(id);
      return found;
    };
    return database.transaction(async (tx) => {
      const deployment = await load(tx);
      const wanted = decide(deployment);
      if (!wanted) return views.one(tx, deployment);
      await saveDesiredState(tx, id, wanted, clock.now());
      await announceDeployment(tx, id);
      return views.one(tx, await load(tx));
    });
  }
}

type Wanted = { state: Deployment["desired_state"]; restart: boolean };

function notRunning(message: string): AppError {
  return new AppError({ code: "deployment.not_running", kind: "conflict", message });
}
