import type { StopOptions, Stopped, Worker } from "../../platform/areas/area.ts";
import type { Database } from "../../platform/db/database.ts";
import type { Logger } from "../../platform/logger.ts";
import { graceStop } from "../../platform/work/grace-stop.ts";
import { clearLeftBuilds } from "../builds/build-cleanup.ts";
import type { ReconcileFence } from "../desired-state/reconcile-fence.ts";
import { readRevision } from "../desired-state/revision-store.ts";
import type { Instance } from "../runtimes/instance.ts";
import type { Runtime } from "../runtimes/runtime.ts";
import type { Supervisor, WantedServer } from "../runtimes/supervisor.ts";
import { prepareDeploymentFolders } from "../sandbox/data-folders.ts";
import { describeIsolation } from "../sandbox/isolation.ts";
import type { BuildTasks } from "./build-tasks.ts";
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
  /** Nobody else keeps data on that PostgreSQL server. */
  ownsDatabaseServer: boolean;
  /** Whether servers go on when the platform is stopped. */
  keepServers: boolean;
  fence: ReconcileFence;
  builds: BuildTasks;
  launches: LaunchPlanner;
  supervisor: Supervisor;
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
      // Whoever has the lease next builds them again, and watches the servers.
      onLost: async () => {
        const ends = [this.#stopReconciling(), options.builds.stopAll(), options.supervisor.release()];
        await Promise.all(ends);
      },
    });
  }

  async start(): Promise<void> {
    const { folder, runtime, logger } = this.#options;
    await prepareDeploymentFolders(folder);
    const isolation = await runtime.isolation();
    if (isolation.kind === "none" || isolation.kind === "users")
      logger.warn({ isolation: isolation.kind }, describeIsolation(isolation));
    await this.#lease.start();
  }

  async stop({ graceMs }: StopOptions): Promise<Stopped> {
    const { builds, supervisor, keepServers } = this.#options;
    const deadline = performance.now() + graceMs;
    const ending = [this.#stopReconciling(), this.#lease.stopTaking()];
    const stopped = await graceStop({
      graceMs,
      stopTaking: async () => {},
      underWay: () => ending,
      // What is being done to a deployment goes on from its rows at the next start.
      abort: () => [],
    });
    if (this.#lease.holds()) {
      await builds.stopAll();
      if (!keepServers) await supervisor.stopAll(Math.max(0, deadline - performance.now()));
    }
    await this.#lease.stop();
    return stopped;
  }

  async #begin(requireLease: () => void): Promise<void> {
    const { database, logger, folder, ownsDatabaseServer, supervisor, reconciler } = this.#options;
    await clearLeftBuilds(folder);
    await closeDatabases({ database, logger, ownsServer: ownsDatabaseServer });
    await supervisor.adopt((instance) => this.#wanted(instance));
    await reconciler.start(requireLease);
  }

  /** What a server that still runs should have been started with. */
  async #wanted(instance: Instance): Promise<WantedServer> {
    const { database, launches } = this.#options;
    const deployment = await readDeployment(database.sql, instance.deployment_id);
    const revision = await readRevision(database.sql, instance.revision_id);
    return deployment && revision ? launches.facts(deployment, revision) : null;
  }

  async #stopReconciling(): Promise<void> {
    const stopped = this.#options.reconciler.stop();
    this.#options.supervisor.halt();
    await stopped;
  }
}
