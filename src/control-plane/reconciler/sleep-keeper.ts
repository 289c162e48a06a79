import type { Clock } from "../../platform/clock.ts";
import type { Deployment } from "../desired-state/deployment.ts";
import type { ReconcileFence } from "../desired-state/reconcile-fence.ts";
import type { SleepState } from "../desired-state/sleep.ts";
import { moveSleep, settleSleep } from "../desired-state/sleep-store.ts";
import { insertLogs } from "../logs/log-store.ts";
import type { Supervisor } from "../runtimes/supervisor.ts";
import type { AwakeReason, SleepOperation } from "./sleep-plan.ts";

export type SleepKeeperOptions = {
  clock: Clock;
  fence: Pick<ReconcileFence, "write">;
  supervisor: Pick<Supervisor, "stop">;
  forgetRoute(deploymentId: string): void;
};

const stayText: Record<AwakeReason, string> = {
  requests: "It stays awake: it still has requests.",
  work: "It stays awake: it has a run, a cron or a webhook to do.",
  due_soon: "It stays awake: a cron or a delayed run is due in a moment.",
  unknown_work: "It stays awake: its database does not tell whether it has something to do.",
  change: "It stays awake: it is being changed.",
};

const wakeText: Record<Extract<SleepOperation, { kind: "wake" }>["because"], string> = {
  due: "Waking up: a cron or a delayed run is due.",
  work: "Waking up: it had not finished its work.",
  unknown_work: "Waking up: its database does not tell whether it has something to do.",
};

const wokenText = (isReady: boolean) =>
  isReady ? "Awake again." : "Awake again, but its server does not take requests yet.";

/** Moves deployments between awake and asleep, and writes it in their log. */
export class SleepKeeper {
  readonly #options: SleepKeeperOptions;

  constructor(options: SleepKeeperOptions) {
    this.#options = options;
  }

  async execute(deployment: Deployment, operation: SleepOperation): Promise<void> {
    switch (operation.kind) {
      case "doze":
        await this.#move(deployment, { to: "falling_asleep" });
        return;
      case "stay_awake":
        await this.#move(deployment, { to: "awake", from: ["falling_asleep"] }, stayText[operation.because]);
        return;
      case "fall_asleep":
        return this.#fallAsleep(deployment, operation.instanceId);
      case "settle":
        return this.#options.fence.write((tx) => settleSleep(tx, deployment.id, operation.wakeAt));
      case "wake":
        await this.#move(deployment, { to: "waking", from: ["asleep"] }, wakeText[operation.because]);
        return;
      case "woken":
        await this.#move(deployment, { to: "awake", from: ["waking"] }, wokenText(operation.isReady));
        return;
    }
  }

  /** A gateway that wanted it first has moved it on; then its server stays. */
  async #fallAsleep(deployment: Deployment, instanceId: string | null): Promise<void> {
    const text = "Asleep. The next request, cron or delayed run wakes it.";
    const isAsleep = await this.#move(deployment, { to: "asleep", from: ["falling_asleep"] }, text);
    if (isAsleep && instanceId !== null) await this.#options.supervisor.stop(instanceId);
  }

  async #move(
    { id, active_revision_id: revisionId }: Deployment,
    move: { to: SleepState; from?: SleepState[] },
    message?: string,
  ): Promise<boolean> {
    const { clock, fence, forgetRoute } = this.#options;
    const moved = await fence.write(async (tx) => {
      const isMoved = await moveSleep(tx, id, move, clock.now());
      if (isMoved && message !== undefined && revisionId !== null) {
        const line = { at: clock.now(), level: "INFO" as const, message };
        await insertLogs(tx, { deploymentId: id, revisionId, kind: "deploy" }, [line]);
      }
      return isMoved;
    });
    forgetRoute(id);
    return moved;
  }
}
