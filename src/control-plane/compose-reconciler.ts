import { Builder } from "./builds/builder/builder.ts";
import type { Gateway } from "./compose-gateway.ts";
import type { Services } from "./compose-services.ts";
import type { ControlPlaneOptions } from "./control-plane-options.ts";
import { ReconcileFence } from "./desired-state/reconcile-fence.ts";
import { BuildTasks } from "./reconciler/build-tasks.ts";
import { Executor } from "./reconciler/executor.ts";
import { LaunchPlanner } from "./reconciler/launch-planner.ts";
import { purge } from "./reconciler/maintenance.ts";
import { ReconcileWorker } from "./reconciler/reconcile-worker.ts";
import { Reconciler } from "./reconciler/reconciler.ts";
import { Supervisor } from "./runtimes/supervisor.ts";
import type { DeploymentTracing } from "./tracing/deployment-tracing.ts";

/** What brings about what is wanted: builds, servers, and the plan that says which is next. */
export function composeReconciler(
  options: ControlPlaneOptions,
  {
    services: { git, sources, urlOf },
    gateway: { targets, inFlight },
    tracing,
  }: { services: Services; gateway: Gateway; tracing: DeploymentTracing },
): { supervisor: Supervisor; worker: ReconcileWorker } {
  const { database, clock, logger, secretBox, runtime, settings, folder, walls } = options;
  const ground = { database, clock, logger, secretBox };
  const forgetRoute = (deploymentId: string) => targets.forget(deploymentId);
  const wake = (deploymentId: string) => {
    forgetRoute(deploymentId);
    reconciler.wake(deploymentId);
  };
  const fence = new ReconcileFence(database);
  const builder = new Builder({
    ...{ database, clock, git, folder, walls },
    checkProject: options.checkProject,
    environment: options.buildEnvironment,
    pythons: settings.pythons,
    timeoutMs: settings.buildTimeoutMs,
    maxBytes: settings.buildMaxBytes,
    maxAtOnce: settings.buildConcurrency,
  });
  const builds = new BuildTasks({
    ...ground,
    ...{ fence, builder },
    sourceOf: (revision, signal) => sources.of(revision, signal),
    onChange: wake,
  });
  const supervisor = new Supervisor({ ...ground, fence, runtime, folder, onChange: wake });
  const launches = new LaunchPlanner({
    ...{ database, clock, secretBox, urlOf, tracing },
    databaseUrl: options.databaseUrl,
    environment: options.serverEnvironment,
    defaultMemoryBytes: settings.defaultMemoryBytes,
  });
  const executor = new Executor({
    ...ground,
    ...{ fence, supervisor, builds, launches, urlOf, tracing, forgetRoute },
    purge: (deployment) => purge({ database, folder }, deployment),
  });
  const reconciler = new Reconciler({ ...ground, builds, executor, tracing, inFlight, limits: settings });
  const worker = new ReconcileWorker({
    ...{ database, logger, runtime, folder, fence, builds, launches, supervisor, reconciler },
    ownsDatabaseServer: options.ownsDatabaseServer ?? false,
    keepServers: settings.keepServers,
  });
  return { supervisor, worker };
}
