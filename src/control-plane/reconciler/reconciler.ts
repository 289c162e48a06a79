import type { Clock } from "../../platform/clock.ts";
import type { Database, Unlisten } from "../../platform/db/database.ts";
import { KeyedLock } from "../../platform/keyed-lock.ts";
import type { Logger } from "../../platform/logger.ts";
import type { Deployment } from "../deployments/deployment.ts";
import { deploymentChannel } from "../revisions/revision-store.ts";
import type { Instance } from "../runtimes/instance.ts";
import { listInstances } from "../runtimes/instance-store.ts";
import type { DeploymentTracing } from "../tracing/deployment-tracing.ts";
import type { BuildTasks } from "./build-tasks.ts";
import type { Executor } from "./executor.ts";
import { listBusyDeployments, readDeployment, readRelevantRevisions } from "./observation-store.ts";
import { type Limits, type Observed, plan } from "./plan.ts";
import { RenewalTurns } from "./renewal-turns.ts";

export type ReconcilerOptions = {
  database: Database;
  clock: Clock;
  logger: Logger;
  builds: BuildTasks;
  executor: Executor;
  tracing: Pick<DeploymentTracing, "currentKeyId" | "watchKeys">;
  inFlight(instanceId: string): number;
  limits: Limits;
  /** Should a wake-up be lost. */
  sweepMs?: number;
};

const renewalsAtOnce = 2;
const maxRounds = 20;
const retryMs = 2_000;

/** Looks, plans and does, for one deployment at a time, until nothing is left to do for it. */
export function createReconciler(options: ReconcilerOptions) {
  const { database, clock, logger, builds, executor } = options;
  const turns = new RenewalTurns({ atOnce: renewalsAtOnce, patienceMs: options.limits.healthMs });
  const lock = new KeyedLock();
  const wanted = new Set<string>();
  const timers = new Map<string, NodeJS.Timeout>();
  const running = new Set<Promise<void>>();
  let active = false;
  let unlisten: Unlisten[] = [];
  let sweepTimer: NodeJS.Timeout | undefined;

  function wake(deploymentId: string): void {
    if (!active || wanted.has(deploymentId)) return;
    wanted.add(deploymentId);
    const work = lock
      .run(deploymentId, () => {
        wanted.delete(deploymentId);
        return reconcile(deploymentId);
      })
      .catch((error: unknown) => {
        logger.error(
          { err: error, deployment: deploymentId },
          "a deployment could not be reconciled, trying again",
        );
        wakeAfter(deploymentId, retryMs);
      })
      .finally(() => running.delete(work));
    running.add(work);
  }

  function wakeAfter(deploymentId: string, waitMs: number): void {
    clearTimeout(timers.get(deploymentId));
    if (!active) return;
    const timer = setTimeout(() => {
      timers.delete(deploymentId);
      wake(deploymentId);
    }, waitMs);
    timers.set(deploymentId, timer);
  }

  async function reconcile(deploymentId: string): Promise<void> {
    for (let round = 0; round < maxRounds && active; round += 1) {
      const observed = await observe(deploymentId);
      if (!observed) return;
      const { operations, lookAgainMs } = plan(observed);
      if (operations.length === 0) {
        if (lookAgainMs !== null) wakeAfter(deploymentId, lookAgainMs);
        return;
      }
      for (const operation of operations) {
        logger.debug({ deployment: deploymentId, ...operation }, "reconciling");
        await executor.execute(observed.deployment, operation);
      }
    }
    // Something does not settle; others get their turn first.
    wakeAfter(deploymentId, retryMs);
  }

  async function observe(deploymentId: string): Promise<Observed | null> {
    // First: a build that ends while the rest is read has not been lost.
    const building = builds.runningFor(deploymentId);
    const deployment = await readDeployment(database.sql, deploymentId);
    if (!deployment) return null;
    const revisions = await readRelevantRevisions(database.sql, deployment);
    const instances = await listInstances(
      database.sql,
      deploymentId,
      revisions.map(({ id }) => id),
    );
    return {
      now: clock.now(),
      deployment,
      revisions,
      instances,
      building,
      freeBuildSlots: builds.freeSlots(),
      outdated: await findOutdated(deployment, instances),
      inFlight: options.inFlight,
      limits: options.limits,
    };
  }

  async function findOutdated(deployment: Deployment, instances: Instance[]): Promise<ReadonlySet<string>> {
    const traced = instances.filter(
      ({ revision_id, state, tracing_key_id }) =>
        revision_id === deployment.active_revision_id && state === "ready" && tracing_key_id !== null,
    );
    if (traced.length === 0 || deployment.deleted_at !== null) return new Set();
    const keyId = await options.tracing.currentKeyId(deployment);
    // Without another key a new server would be no better off.
    if (keyId === null) return new Set();
    const refused = traced.filter(({ tracing_key_id }) => tracing_key_id !== keyId).map(({ id }) => id);
    if (refused.length > 0) return new Set(turns.take(deployment.id, clock.now()) ? refused : []);
    if (turns.giveBack(deployment.id)) sweepSoon();
    return new Set();
  }

  async function sweep(): Promise<void> {
    for (const id of await listBusyDeployments(database.sql)) wake(id);
  }

  const sweepSoon = () => {
    sweep().catch((error: unknown) =>
      logger.warn({ err: error }, "deployments could not be listed, trying again"),
    );
  };

  return {
    wake,
    async start() {
      active = true;
      unlisten.push(await database.listen(deploymentChannel, wake, sweepSoon));
      unlisten.push(await options.tracing.watchKeys(sweepSoon));
      sweepTimer = setInterval(sweepSoon, options.sweepMs ?? 60_000);
      sweepTimer.unref();
      await sweep();
    },
    /** Begins nothing new and waits for what was begun. */
    async stop() {
      active = false;
      clearInterval(sweepTimer);
      for (const timer of timers.values()) clearTimeout(timer);
      timers.clear();
      for (const end of unlisten) await end();
      unlisten = [];
      while (running.size > 0) await Promise.all(running);
    },
  };
}

export type Reconciler = ReturnType<typeof createReconciler>;
