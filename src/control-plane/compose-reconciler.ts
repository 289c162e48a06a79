import { join } from "node:path";
import type { Worker } from "../platform/areas/area.ts";
import { ownDatabaseUrl } from "../platform/db/own-database.ts";
import { ArtifactShelf } from "./builds/artifact-shelf.ts";
import type { RevisionBuilder } from "./builds/build-request.ts";
import { Builder } from "./builds/builder/builder.ts";
import { PodBuilder } from "./builds/builder/pod-builder.ts";
import type { GitSource } from "./builds/git/git-source.ts";
import type { Gateway } from "./compose-gateway.ts";
import type { Services } from "./compose-services.ts";
import type { ControlPlaneOptions } from "./control-plane-options.ts";
import { ReconcileFence } from "./desired-state/reconcile-fence.ts";
import { countHeld, findBusyInstances } from "./gateway/gateway-store.ts";
import { readUsedAt } from "./metrics/metric-store.ts";
import { AwaitedWorks } from "./reconciler/awaited-works.ts";
import { BuildWorker } from "./reconciler/build-worker.ts";
import type { DeploymentSources as BuildSources } from "./reconciler/deployment-sources.ts";
import { Executor } from "./reconciler/executor.ts";
import { LaunchPlanner } from "./reconciler/launch-planner.ts";
import { purge } from "./reconciler/maintenance.ts";
import { ReconcileWorker } from "./reconciler/reconcile-worker.ts";
import { Reconciler } from "./reconciler/reconciler.ts";
import { SleepFinder } from "./reconciler/sleep-finder.ts";
import { SleepKeeper } from "./reconciler/sleep-keeper.ts";
import { Supervisor } from "./runtimes/supervisor.ts";
import { Autoscaler } from "./scaling/autoscaler.ts";
import type { DeploymentTracing } from "./tracing/deployment-tracing.ts";

/** What brings about what is wanted: builds, servers, and the plan that says which is next. */
export function composeReconciler(
  options: ControlPlaneOptions,
  {
    services: { git, urlOf },
    gateway: { targets, proxy, meter },
    tracing,
    sources,
  }: {
    services: Services;
    gateway: Gateway;
    tracing: DeploymentTracing;
    sources: Pick<BuildSources, "of">;
  },
): {
  supervisor: Supervisor;
  shelf: ArtifactShelf;
  builder: Pick<RevisionBuilder, "clearLeft">;
  workers: Worker[];
} {
  const { database, clock, logger, secretBox, runtime, settings, folder } = options;
  const ground = { database, clock, logger, secretBox };
  const forgetRoute = (deploymentId: string) => targets.forget(deploymentId);
  const wake = (deploymentId: string) => {
    forgetRoute(deploymentId);
    reconciler.wake(deploymentId);
    autoscaler.wake();
  };
  const fence = new ReconcileFence(database);
  const shelf = new ArtifactShelf({
    ...{ database, clock },
    folder: join(folder, "artifacts"),
    blobs: options.sharesBlobs ? options.blobs : null,
    maxBytes: settings.artifactCacheBytes,
  });
  const builder = composeBuilder(options, { git, shelf });
  const shares = options.sharesBuilds ?? false;
  const builds = new BuildWorker({
    ...ground,
    ...{ folder, builder, shares },
    sourceOf: (revision, signal) => sources.of(revision, signal),
  });
  const supervisor = new Supervisor({ ...ground, fence, runtime, folder, onChange: wake });
  const autoscaler = new Autoscaler({
    ...{ ...ground, fence, runtime, supervisor },
    defaultMemoryBytes: settings.defaultMemoryBytes,
    keepMs: settings.scaleDownMs,
  });
  const launches = new LaunchPlanner({
    readsClusterSecrets: runtime.readsClusterSecrets ?? false,
    ...{ database, clock, secretBox, urlOf, tracing, shelf },
    databaseUrl: options.databaseUrl,
    environment: options.serverEnvironment,
    defaultMemoryBytes: settings.defaultMemoryBytes,
  });
  const executor = new Executor({
    ...ground,
    ...{ fence, supervisor, launches, urlOf, tracing, forgetRoute },
    sleep: new SleepKeeper({ clock, fence, supervisor, forgetRoute }),
    purge: (deployment) => purge({ database, folder, logger, blobs: options.blobs }, deployment),
  });
  const sleep = new SleepFinder({
    usedAt: async (deploymentId, since) =>
      meter.isUsed(deploymentId) ? clock.now() : readUsedAt(database.sql, deploymentId, since),
    isHeld: async (instanceId) =>
      proxy.ways.inFlight(instanceId) > 0 || (await countHeld(database.sql, [instanceId], null)).size > 0,
    works: new AwaitedWorks({
      logger,
      read: (deployment, told) =>
        options.awaitedWork(ownDatabaseUrl(options.databaseUrl, launches.ownDatabase(deployment)), told),
    }),
  });
  const reconciler = new Reconciler({
    ...{ ...ground, executor, tracing, sleep, limits: settings },
    findBusy: async (instanceIds) => {
      // What this process holds it knows without a row, also right after the database was away.
      const own = instanceIds.filter((id) => proxy.ways.inFlight(id) > 0);
      return new Set([...own, ...(await findBusyInstances(database.sql, instanceIds))]);
    },
  });
  const worker = new ReconcileWorker({
    ...{ database, logger, runtime, folder, fence, launches, supervisor, autoscaler, reconciler },
    builds: shares ? null : builds,
    ownsDatabaseServer: options.ownsDatabaseServer ?? false,
    keepServers: settings.keepServers,
  });
  return { supervisor, shelf, builder, workers: shares ? [worker, builds] : [worker] };
}

/** In pods where the settings ask for it, otherwise in this process. */
function composeBuilder(
  options: ControlPlaneOptions,
  { git, shelf }: { git: GitSource; shelf: ArtifactShelf },
): RevisionBuilder {
  const { database, clock, logger, secretBox, blobs, settings, folder, walls, buildPods, checkProject } =
    options;
  const ground = {
    ...{ database, clock, git, folder, shelf, checkProject },
    environment: options.buildEnvironment,
    timeoutMs: settings.buildTimeoutMs,
    maxBytes: settings.buildMaxBytes,
    maxAtOnce: settings.buildConcurrency,
  };
  return buildPods
    ? new PodBuilder({ ...ground, logger, secretBox, blobs, pods: buildPods })
    : new Builder({ ...ground, walls, pythons: settings.pythons });
}
