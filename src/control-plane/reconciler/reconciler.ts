import type { Clock } from "../../platform/clock.ts";
import type { Database, Unlisten } from "../../platform/db/database.ts";
import type { Logger } from "../../platform/logger.ts";
import { WakeLoop } from "../../platform/work/wake-loop.ts";
import type { Deployment } from "../desired-state/deployment.ts";
import { deploymentChannel } from "../desired-state/revision-store.ts";
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
  /** One for each deployment that is looked after or is to be looked at later. */
  const loops = new Map<string, WakeLoop>();
  let requireLease: (() => void) | undefined;
  let unlisten: Unlisten[] = [];

  function wake(deploymentId: string): void {
    if (!requireLease) return;
    const loop = loops.get(deploymentId) ?? createLoop(deploymentId);
    loops.set(deploymentId, loop);
    loop.wake();
  }

  function createLoop(deploymentId: string): WakeLoop {
    return new WakeLoop({
      // The sweep looks after lost wake-ups, for all of them at once.
      rules: { heartbeatMs: null, minWaitMs: 0, firstRetryMs: retryMs, maxRetryMs: retryMs * 8 },
      look: () => reconcile(deploymentId),
      onIdle: () => loops.delete(deploymentId),
      onFailure: (error) =>
        logger.error(
          { err: error, deployment: deploymentId },
          "a deployment could not be reconciled, trying again",
        ),
    });
  }

  /** Answers when to look again. */
  async function reconcile(deploymentId: string): Promise<number | null> {
    const mayGoOn = requireLease;
    for (let round = 0; round < maxRounds && requireLease && mayGoOn; round += 1) {
      const observed = await observe(deploymentId);
      if (!observed) return null;
      const { operations, lookAgainMs } = plan(observed);
      if (operations.length === 0) return lookAgainMs;
      for (const operation of operations) {
        // Not since the plan was made but now: another process may be at work on the same deployment.
        mayGoOn();
        logger.debug({ deployment: deploymentId, ...operation }, "reconciling");
        await executor.execute(observed.deployment, operation);
      }
    }
    // Something does not settle; others get their turn first.
    return retryMs;
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
    if (turns.giveBack(deployment.id)) sweep.wake();
    return new Set();
  }

  const createSweep = () =>
    new WakeLoop({
      rules: { heartbeatMs: options.sweepMs ?? 60_000 },
      async look() {
        for (const id of await listBusyDeployments(database.sql)) wake(id);
        return null;
      },
      onFailure: (error) => logger.warn({ err: error }, "deployments could not be listed, trying again"),
    });
  let sweep = createSweep();

  return {
    wake,
    async start(lease: () => void) {
      requireLease = lease;
      sweep = createSweep();
      const sweepSoon = () => sweep.wake();
      unlisten.push(await database.listen(deploymentChannel, wake, sweepSoon));
      unlisten.push(await options.tracing.watchKeys(sweepSoon));
      await sweep.lookNow();
    },
    /** Begins nothing new and waits for what was begun. */
    async stop() {
      requireLease = undefined;
      const ends = unlisten;
      unlisten = [];
      for (const end of ends) await end();
      await sweep.stop();
      await Promise.all([...loops.values()].map((loop) => loop.stop()));
      loops.clear();
    },
  };
}

export type Reconciler = ReturnType<typeof createReconciler>;
