import type { Clock } from "../../platform/clock.ts";
import type { Database, Unlisten } from "../../platform/db/database.ts";
import type { Logger } from "../../platform/logger.ts";
import { WakeLoop } from "../../platform/work/wake-loop.ts";
import { findBuilding } from "../desired-state/build-jobs.ts";
import { type Deployment, isElsewhere } from "../desired-state/deployment.ts";
import { deploymentChannel } from "../desired-state/revision-store.ts";
import type { Instance } from "../runtimes/instance.ts";
import { listInstances } from "../runtimes/instance-store.ts";
import type { DeploymentTracing } from "../tracing/deployment-tracing.ts";
import type { Executor } from "./executor.ts";
import { listBusyDeployments, readDeployment, readRelevantRevisions } from "./observation-store.ts";
import { type Limits, type Observed, plan } from "./plan.ts";
import { RenewalTurns } from "./renewal-turns.ts";
import type { SleepFinder } from "./sleep-finder.ts";

export type ReconcilerOptions = {
  database: Database;
  clock: Clock;
  logger: Logger;
  executor: Executor;
  tracing: Pick<DeploymentTracing, "currentKeyId" | "watchKeys">;
  /** Which of these instances a gateway still has requests at, or may still send some to. */
  findBusy(instanceIds: readonly string[]): Promise<ReadonlySet<string>>;
  sleep: SleepFinder;
  limits: Limits;
  /** Should a wake-up be lost. */
  sweepMs?: number;
  /** One sweep in so many also looks at what is settled: keys for traces grow old within days. */
  thoroughEvery?: number;
};

const renewalsAtOnce = 2;
const maxRounds = 20;
const retryMs = 2_000;

/** Looks, plans and does, for one deployment at a time, until nothing is left to do for it. */
export class Reconciler {
  readonly #options: ReconcilerOptions;
  readonly #turns: RenewalTurns;
  /** One for each deployment that is looked after or is to be looked at later. */
  readonly #loops = new Map<string, WakeLoop>();
  #sweep: WakeLoop;
  /** The next sweep looks at all of them. */
  #isThoroughDue = false;
  #requireLease: (() => void) | undefined;
  #unlisten: Unlisten[] = [];

  constructor(options: ReconcilerOptions) {
    this.#options = options;
    this.#turns = new RenewalTurns({ atOnce: renewalsAtOnce, patienceMs: options.limits.healthMs });
    this.#sweep = this.#createSweep();
  }

  wake(deploymentId: string): void {
    if (!this.#requireLease) return;
    const loop = this.#loops.get(deploymentId) ?? this.#createLoop(deploymentId);
    this.#loops.set(deploymentId, loop);
    loop.wake();
  }

  /** `requireLease` throws once another process may reconcile. */
  async start(requireLease: () => void): Promise<void> {
    const { database, tracing } = this.#options;
    this.#requireLease = requireLease;
    this.#sweep = this.#createSweep();
    const sweepSoon = () => this.#sweepAll();
    this.#unlisten.push(await database.listen(deploymentChannel, (id) => this.wake(id), sweepSoon));
    this.#unlisten.push(await tracing.watchKeys(sweepSoon));
    await this.#sweep.lookNow();
  }

  /** Begins nothing new and waits for what was begun. */
  async stop(): Promise<void> {
    this.#requireLease = undefined;
    this.#options.sleep.stop();
    const ends = this.#unlisten;
    this.#unlisten = [];
    for (const end of ends) await end();
    await this.#sweep.stop();
    await Promise.all([...this.#loops.values()].map((loop) => loop.stop()));
    this.#loops.clear();
  }

  #createLoop(deploymentId: string): WakeLoop {
    return new WakeLoop({
      // The sweep makes up for lost wake-ups, for all of them at once.
      rules: { heartbeatMs: null, minWaitMs: 0, firstRetryMs: retryMs, maxRetryMs: retryMs * 8 },
      look: () => this.#reconcile(deploymentId),
      onIdle: () => this.#loops.delete(deploymentId),
      onFailure: (error) =>
        this.#options.logger.error(
          { err: error, deployment: deploymentId },
          "a deployment could not be reconciled, trying again",
        ),
    });
  }

  #sweepAll(): void {
    this.#isThoroughDue = true;
    this.#sweep.wake();
  }

  #createSweep(): WakeLoop {
    const { database, clock, logger, sweepMs = 60_000, thoroughEvery = 30 } = this.#options;
    let beats = 0;
    return new WakeLoop({
      rules: { heartbeatMs: sweepMs },
      look: async () => {
        const soon = new Date(clock.now().getTime() + 2 * sweepMs);
        // A look at each costs statements, and of most there is nothing to find.
        const isThorough = this.#isThoroughDue || beats % thoroughEvery === 0;
        beats += 1;
        // What comes meanwhile is for the next one.
        this.#isThoroughDue = false;
        const busy = await listBusyDeployments(database.sql, soon).catch((error: unknown) => {
          this.#isThoroughDue ||= isThorough;
          throw error;
        });
        for (const { id, settled } of busy) if (isThorough || !settled) this.wake(id);
        return null;
      },
      onFailure: (error) => logger.warn({ err: error }, "deployments could not be listed, trying again"),
    });
  }

  /** Answers when to look again. */
  async #reconcile(deploymentId: string): Promise<number | null> {
    const mayGoOn = this.#requireLease;
    for (let round = 0; round < maxRounds && this.#requireLease && mayGoOn; round += 1) {
      const observed = await this.#observe(deploymentId);
      // Looking takes a while, and it may have been told to stop meanwhile.
      if (!observed || !this.#requireLease) return null;
      const { operations, lookAgainMs } = plan(observed);
      if (operations.length === 0) return lookAgainMs;
      for (const operation of operations) {
        // Not since the plan was made but now: another process may be at work on the same deployment.
        mayGoOn();
        this.#options.logger.debug({ deployment: deploymentId, ...operation }, "reconciling");
        await this.#options.executor.execute(observed.deployment, operation);
      }
    }
    // Something does not settle; others get their turn first.
    return retryMs;
  }

  async #observe(deploymentId: string): Promise<Observed | null> {
    const deployment = await readDeployment(this.#options.database.sql, deploymentId);
    if (!deployment || isElsewhere(deployment)) return null;
    const revisions = await readRelevantRevisions(this.#options.database.sql, deployment);
    const instances = await listInstances(
      this.#options.database.sql,
      deploymentId,
      revisions.map(({ id }) => id),
    );
    const seen = {
      now: this.#options.clock.now(),
      deployment,
      revisions,
      instances,
      building: await findBuilding(this.#options.database.sql, revisions),
      outdated: await this.#findOutdated(deployment, instances),
      busy: await this.#findBusy(instances),
      limits: this.#options.limits,
    };
    return { ...seen, sleep: await this.#options.sleep.find(seen) };
  }

  async #findBusy(instances: readonly Instance[]): Promise<ReadonlySet<string>> {
    const draining = instances.filter(({ state }) => state === "draining").map(({ id }) => id);
    return draining.length === 0 ? new Set() : this.#options.findBusy(draining);
  }

  async #findOutdated(deployment: Deployment, instances: Instance[]): Promise<ReadonlySet<string>> {
    const traced = instances.filter(
      ({ revision_id, state, tracing_key_id }) =>
        revision_id === deployment.active_revision_id && state === "ready" && tracing_key_id !== null,
    );
    if (traced.length === 0 || deployment.deleted_at !== null) return new Set();
    const keyId = await this.#options.tracing.currentKeyId(deployment);
    // Without another key a new server would be no better off.
    if (keyId === null) return new Set();
    const refused = traced.filter(({ tracing_key_id }) => tracing_key_id !== keyId).map(({ id }) => id);
    if (refused.length > 0)
      return new Set(this.#turns.take(deployment.id, this.#options.clock.now()) ? refused : []);
    if (this.#turns.giveBack(deployment.id)) this.#sweepAll();
    return new Set();
  }
}
