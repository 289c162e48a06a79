import type { StopOptions, Stopped, Worker } from "../../platform/areas/area.ts";
import type { Database } from "../../platform/db/database.ts";
import type { Logger } from "../../platform/logger.ts";
import { graceStop } from "../../platform/work/grace-stop.ts";
import type { ReconcileFence } from "../desired-state/reconcile-fence.ts";
import { readRevision } from "../desired-state/revision-store.ts";
import type { Instance } from "../runtimes/instance.ts";
import type { Runtime } from "../runtimes/runtime.ts";
import type { Supervisor, WantedServer } from "../runtimes/supervisor.ts";
import { prepareDeploymentFolders } from "../sandbox/data-folders.ts";
import { describeIsolation } from "../sandbox/isolation.ts";
import type { Autoscaler } from "../scaling/autoscaler.ts";
import type { BuildWorker } from "./build-worker.ts";
import { closeDatabases } from "./close-databases.ts";
import type { LaunchPlanner } from "./launch-planner.ts";
import { readDeployment } from "./observation-store.ts";
import { ReconcileLease } from "./reconcile-lease.ts";
import type { Reconciler } from "./reconciler.ts";

export type ReconcileWorkerOptions = {
  database: Database;
  logger: Logger;
  runtime: Runtime;
  folder: string;
  /** That PostgreSQL server holds only this platform's data. */
  ownsDatabaseServer: boolean;
  /** Whether servers go on when the platform is stopped. */
  keepServers: boolean;
  fence: ReconcileFence;
  /** Where builds are made for this machine only, they go with the lease. */
  builds: BuildWorker | null;
  launches: LaunchPlanner;
  supervisor: Supervisor;
  autoscaler: Autoscaler;
  reconciler: Reconciler;
};

/** Reconciles deployments while this process has the lease on them. */
export class ReconcileWorker implements Worker {
  readonly name = "control-plane.reconciler";
  /** Deployed servers get the platform's address. */
  readonly needsAddress = true;
  readonly #options: ReconcileWorkerOptions;
  readonly #lease: ReconcileLease;

  constructor(options: ReconcileWorkerOptions) {
    const { database, logger, fence } = options;
    this.#options = options;
    this.#lease = new ReconcileLease({
      database,
      logger,
      fence,
      onTaken: (requireLease) => this.#begin(requireLease),
      // The next holder of the lease watches the servers.
      onLost: async () => {
        const ends = [this.#stopReconciling(), options.builds?.stop(), options.supervisor.release()];
        await Promise.all(ends);
      },
    });
  }

  async start(): Promise<void> {
    const { folder, runtime, logger } = this.#options;
    await prepareDeploymentFolders(folder);
    const isolation = await runtime.isolation();
    if (isolation.problem !== null) logger.warn({ isolation: isolation.kind }, describeIsolation(isolation));
    await this.#lease.start();
  }

  async stop({ graceMs }: StopOptions): Promise<Stopped> {
    const { builds, supervisor, keepServers, runtime } = this.#options;
    const deadline = performance.now() + graceMs;
    // At once, beside the rest: builds have no use for the grace.
    const building = builds?.stop();
    const ending = [this.#stopReconciling(), this.#lease.stopTaking()];
    const stopped = await graceStop({
      graceMs,
      stopTaking: async () => {},
      underWay: () => ending,
      // Unfinished work on a deployment continues from its rows at the next start.
      abort: () => [],
    });
    if (this.#lease.holds()) {
      if (keepServers || runtime.outlivesPlatform) await supervisor.release();
      else await supervisor.stopAll(Math.max(0, deadline - performance.now()));
    }
    await building;
    await this.#lease.stop();
    return stopped;
  }

  async #begin(requireLease: () => void): Promise<void> {
    const { database, logger, ownsDatabaseServer, supervisor, autoscaler, reconciler, builds } =
      this.#options;
    await closeDatabases({ database, logger, ownsServer: ownsDatabaseServer });
    await supervisor.adopt((instance) => this.#wanted(instance));
    await builds?.start();
    await reconciler.start(requireLease);
    autoscaler.start();
  }

  /** What a server that still runs should have been started with. */
  async #wanted(instance: Instance): Promise<WantedServer> {
    const { database, launches } = this.#options;
    const deployment = await readDeployment(database.sql, instance.deployment_id);
    const revision = await readRevision(database.sql, instance.revision_id);
    return deployment && revision ? launches.facts(deployment, revision) : null;
  }

  async #stopReconciling(): Promise<void> {
    const stopped = [this.#options.reconciler.stop(), this.#options.autoscaler.stop()];
    this.#options.supervisor.halt();
    await Promise.all(stopped);
  }
}
