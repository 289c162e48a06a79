import type { Clock } from "../../platform/clock.ts";
import type { Database, Sql } from "../../platform/db/database.ts";
import { AppError } from "../../platform/errors.ts";
import type { Caller } from "../../platform/http/access/caller.ts";
import type { Deployment } from "../desired-state/deployment.ts";
import { lockDeployment, saveDesiredState } from "../desired-state/deployment-store.ts";
import { announceDeployment } from "../desired-state/revision-store.ts";
import { moveSleep } from "../desired-state/sleep-store.ts";
import { deploymentNotFound } from "./deployment-rules.ts";
import type { DeploymentViews } from "./deployment-views.ts";
import type { DeploymentView } from "./deployment-wire.ts";

export type DeploymentPowerOptions = {
  database: Database;
  clock: Clock;
  views: DeploymentViews;
  /** Here at once; the gateways of other processes hear of it by the notification. */
  forgetRoute(deploymentId: string): void;
};

/** Stops, starts, restarts, wakes deployments and puts them to sleep: it writes what is wanted, and the reconciler brings it about. */
export class DeploymentPower {
  readonly #options: DeploymentPowerOptions;

  constructor(options: DeploymentPowerOptions) {
    this.#options = options;
  }

  stop(caller: Caller, id: string): Promise<DeploymentView> {
    return this.#change(caller, id, ({ desired_state }) =>
      desired_state === "stopped" ? undefined : { state: "stopped", restart: false, sleep: "awake" },
    );
  }

  start(caller: Caller, id: string): Promise<DeploymentView> {
    return this.#change(caller, id, ({ desired_state, sleep_state }) => {
      if (desired_state === "running" && sleep_state === "awake") return undefined;
      const sleep = desired_state === "running" ? "waking" : "awake";
      return { state: "running", restart: false, sleep };
    });
  }

  /** It sleeps when it has nothing to do. */
  sleep(caller: Caller, id: string): Promise<DeploymentView> {
    return this.#move(caller, id, "falling_asleep");
  }

  wake(caller: Caller, id: string): Promise<DeploymentView> {
    return this.#move(caller, id, "waking");
  }

  restart(caller: Caller, id: string): Promise<DeploymentView> {
    return this.#change(caller, id, (deployment) => {
      requireServing(deployment, "restart");
      const sleep = deployment.sleep_state === "awake" ? "awake" : "waking";
      return { state: "running", restart: true, sleep };
    });
  }

  /** What is on its way there already stays as it is. One that wakes is wanted by somebody: it does not sleep before it has served. */
  #move(caller: Caller, id: string, to: "falling_asleep" | "waking"): Promise<DeploymentView> {
    const { clock, views } = this.#options;
    return this.#write(id, async (tx) => {
      const deployment = await load(tx, caller, id);
      requireServing(deployment, to === "waking" ? "wake" : "put to sleep");
      if (deployment.source_config.listener_id !== null)
        throw notRunning(`The deployment ${deployment.name} is run by a listener, where none sleeps.`);
      if (to === "falling_asleep" && deployment.sleep_state === "waking") {
        const { health } = await views.one(tx, deployment);
        if (health.state === "waking") throw stillWaking(deployment);
        // Its server takes requests, and the reconciler is about to write that.
        await moveSleep(tx, id, { to: "awake" }, clock.now());
      }
      await moveSleep(tx, id, { to }, clock.now());
      return views.one(tx, await load(tx, caller, id));
    });
  }

  #change(
    caller: Caller,
    id: string,
    decide: (deployment: Deployment) => Wanted | undefined,
  ): Promise<DeploymentView> {
    const { clock, views } = this.#options;
    return this.#write(id, async (tx) => {
      const deployment = await load(tx, caller, id);
      const wanted = decide(deployment);
      if (!wanted) return views.one(tx, deployment);
      await saveDesiredState(tx, id, wanted, clock.now());
      await announceDeployment(tx, id);
      return views.one(tx, await load(tx, caller, id));
    });
  }

  /** Whoever has the answer is served by it: a request right after "stopped" meets no server. */
  async #write(id: string, change: (tx: Sql) => Promise<DeploymentView>): Promise<DeploymentView> {
    const { database, forgetRoute } = this.#options;
    const view = await database.transaction(change);
    forgetRoute(id);
    return view;
  }
}

type Wanted = { state: Deployment["desired_state"]; restart: boolean; sleep: Deployment["sleep_state"] };

async function load(tx: Sql, caller: Caller, id: string): Promise<Deployment> {
  const found = await lockDeployment(tx, caller.workspaceId, id);
  if (!found) throw deploymentNotFound(id);
  return found;
}

function requireServing({ name, desired_state, active_revision_id }: Deployment, what: string): void {
  if (desired_state === "stopped") throw notRunning(`The deployment ${name} is stopped. Start it instead.`);
  if (active_revision_id === null)
    throw notRunning(`The deployment ${name} has no running server yet, so there is nothing to ${what}.`);
}

function stillWaking({ name }: Deployment): AppError {
  return new AppError({
    code: "deployment.waking",
    kind: "conflict",
    message: `The deployment ${name} is waking up, because a request, a cron or somebody wants it. Nothing was changed. Put it to sleep when it is awake: \`sleep.state\` of the deployment says so.`,
    retryable: true,
    headers: { "retry-after": "2" },
  });
}

function notRunning(message: string): AppError {
  return new AppError({ code: "deployment.not_running", kind: "conflict", message });
}
