import { join } from "node:path";
import type { Area } from "../platform/areas/area.ts";
import type { Clock } from "../platform/clock.ts";
import type { Database } from "../platform/db/database.ts";
import { raiseDatabaseWalls } from "../platform/db/database-walls.ts";
import type { SecretBox } from "../platform/encryption/secret-box.ts";
import type { Authorize } from "../platform/http/access/access.ts";
import type { AuditSink } from "../platform/http/audit/audit.ts";
import type { BeginRaw } from "../platform/http/server/raw-exchange.ts";
import type { OnRequest, OnUpgrade } from "../platform/http/server/server.ts";
import { every } from "../platform/jobs/job-schedule.ts";
import type { Logger } from "../platform/logger.ts";
import type { NetworkGuard } from "../platform/network/network-guard.ts";
import { graceStop } from "../platform/work/grace-stop.ts";
import { clearLeftBuilds } from "./builds/build-cleanup.ts";
import type { BuildSource } from "./builds/build-request.ts";
import { Builder } from "./builds/builder.ts";
import { createGitSource } from "./builds/git-source.ts";
import type { ProjectCheck } from "./builds/project-files.ts";
import { dashboardRoutes } from "./deployments/dashboard-routes.ts";
import { deploymentTokenRoutes, type TokenIssuer } from "./deployments/deployment-token-routes.ts";
import { createDeployments } from "./deployments/deployments.ts";
import type { Deployment } from "./desired-state/deployment.ts";
import type { Revision } from "./desired-state/revision.ts";
import { createRevisionMaker } from "./desired-state/revision-maker.ts";
import { readRevision } from "./desired-state/revision-store.ts";
import { instanceSecretContext } from "./encryption/sealed-columns.ts";
import { createDeploymentOrigins } from "./gateway/deployment-origins.ts";
import { createGatewayListener, type GatewayOptions, gatewayRoute } from "./gateway/gateway-listener.ts";
import { gatewayRoutes } from "./gateway/gateway-routes.ts";
import { createGatewayUpgrade, isForGateway } from "./gateway/gateway-upgrade.ts";
import { createProxy } from "./gateway/proxy.ts";
import { createTargets } from "./gateway/targets.ts";
import { createGithubApi } from "./integrations/github-api.ts";
import { installationRoutes } from "./integrations/installation-routes.ts";
import { integrationRoutes } from "./integrations/integration-routes.ts";
import { createIntegrationService } from "./integrations/integration-service.ts";
import { createPushService } from "./integrations/push-service.ts";
import { listenerRoutes } from "./listeners/listener-routes.ts";
import { logFeedRoutes } from "./logs/log-feed-routes.ts";
import { logRoutes } from "./logs/log-routes.ts";
import { LogService } from "./logs/log-service.ts";
import { Meter } from "./metrics/meter.ts";
import { metricRoutes } from "./metrics/metric-routes.ts";
import { createEntryStates } from "./pages/entry-state.ts";
import { pageCodeRoutes } from "./pages/page-code-routes.ts";
import { createPageDoors, type PagePasses } from "./pages/page-doors.ts";
import { createBuildTasks } from "./reconciler/build-tasks.ts";
import { createExecutor } from "./reconciler/executor.ts";
import { createLaunchPlanner } from "./reconciler/launch-planner.ts";
import { maintain, purge } from "./reconciler/maintenance.ts";
import { listDatabaseNames, readDeployment } from "./reconciler/observation-store.ts";
import type { Limits } from "./reconciler/plan.ts";
import { createReconcileLease } from "./reconciler/reconcile-lease.ts";
import { createReconciler } from "./reconciler/reconciler.ts";
import { createRevisionFeed } from "./revisions/revision-feed.ts";
import { revisionRoutes } from "./revisions/revision-routes.ts";
import { createRevisionService } from "./revisions/revision-service.ts";
import type { Runtime } from "./runtimes/runtime.ts";
import { Supervisor } from "./runtimes/supervisor.ts";
import { prepareDeploymentFolders } from "./sandbox/data-folders.ts";
import { describeIsolation, type Isolation } from "./sandbox/isolation.ts";
import type { Walls } from "./sandbox/walls.ts";
import { createDeploymentTracing, type TracingPort } from "./tracing/deployment-tracing.ts";
import { uploadRoutes } from "./uploads/upload-routes.ts";
import { UploadService } from "./uploads/upload-service.ts";
import { findUpload } from "./uploads/upload-store.ts";

export type ControlPlaneSettings = Limits & {
  edition: "self-hosted" | "cloud";
  allowLocalRepositories: boolean;
  buildTimeoutMs: number;
  buildMaxBytes: number;
  buildConcurrency: number;
  defaultMemoryBytes: number | null;
  gitPollMs: number;
  purgeAfterMs: number;
  /** Whether servers go on when the platform is stopped. */
  keepServers: boolean;
};

export type ControlPlaneOptions = {
  database: Database;
  databaseUrl: string;
  /** Nobody else keeps data on that PostgreSQL server. */
  ownsDatabaseServer?: boolean;
  secretBox: SecretBox;
  clock: Clock;
  logger: Logger;
  network: NetworkGuard;
  runtime: Runtime;
  /** Around what a project runs while it is built. */
  walls: Walls;
  settings: ControlPlaneSettings;
  /** Builds, artifacts, uploads and logs. */
  folder: string;
  publicUrl(): string;
  /** The platform's own decision about callers, for the gateway. */
  authorize: Authorize;
  /** Whether a text is a credential of the platform, which no deployment may see. */
  isPlatformCredential(text: string): Promise<boolean>;
  /** `https://{slug}.agents.example.com`; null where deployments have no origin of their own. */
  deploymentsUrl?(): string | null;
  /** What builds, and what deployed servers, may see of the machine's environment. */
  buildEnvironment: Record<string, string>;
  serverEnvironment: Record<string, string>;
  checkProject(text: string, path: string): ProjectCheck;
  /** Without it deployments are not traced. */
  tracing?: TracingPort | undefined;
  /** Without it nobody gets tokens for deployments. */
  tokens?: TokenIssuer | undefined;
  /** How people who are signed in to the console enter pages. */
  passes?: PagePasses | undefined;
  /** Whether a credential is asked for also on this machine; without that nobody has to enter. */
  credentialsRequired?: boolean;
  audit?: Pick<AuditSink, "noteRefusal"> | undefined;
  consolePath?(deploymentId: string): string;
};

export type ControlPlane = Area & {
  /** The gateway and pages. */
  hiddenRoutes: NonNullable<Area["hiddenRoutes"]>;
  /** Takes the connections that are for a deployment and leaves the others to whoever had them. */
  onUpgrade(otherwise: OnUpgrade): OnUpgrade;
  /** Takes the requests that are for a deployment. */
  onRequest(begin: (route: string) => BeginRaw): OnRequest;
  /** Pages of deployments, which the platform trusts no more than any other site. */
  isDeploymentOrigin(origin: string): boolean;
  /** Throws while the workspace has deployments. */
  beforeWorkspaceDelete(workspaceId: string): Promise<void>;
  /** What stands between deployed code and the rest of the machine. */
  isolation(): Promise<Isolation>;
};

export function createControlPlane(options: ControlPlaneOptions): ControlPlane {
  const { database, secretBox, clock, logger, network, runtime, settings, folder, publicUrl, walls } =
    options;
  const ground = { database, clock, logger, secretBox };
  const origins = createDeploymentOrigins({
    pattern: options.deploymentsUrl ?? (() => null),
    platformUrl: publicUrl,
  });
  const urlOf = ({ slug }: Pick<Deployment, "slug">) => `${publicUrl()}/d/${slug}`;

  const git = createGitSource({
    network,
    allowLocal: settings.allowLocalRepositories,
    environment: options.buildEnvironment,
    knownHostsFolder: join(folder, "known-hosts"),
  });
  const revisions = createRevisionMaker({ clock, secretBox });
  const tracing = createDeploymentTracing({ ...ground, port: options.tracing });
  const site = createDeployments({
    ...ground,
    revisions,
    urlOf,
    pageUrlOf: ({ slug }) => origins.urlOf(slug),
    tracing,
    rules: {
      edition: settings.edition,
      allowLocalRepositories: settings.allowLocalRepositories,
      runsImages: runtime.runs.images,
    },
    checkAddress: (url) => git.checkAddress(url),
    refusal: async () => (await runtime.isolation()).refusal,
    purgeAfterMs: settings.purgeAfterMs,
  });
  const { service: deployments, removal } = site;
  const revisionService = createRevisionService({ ...ground, deployments, revisions });
  const logs = new LogService({ database, deployments, revisions: revisionService });
  const uploads = new UploadService({ ...ground, deployments, folder, publicUrl });
  const pushes = createPushService({
    ...ground,
    revisions,
    async headOf(deployment, signal) {
      const { repo_url, integration_id } = deployment.source_config;
      const { workspace_id: workspaceId, tracked_repo_ref: ref } = deployment;
      const url = repo_url ?? "";
      const credentials = await integrations.gitCredentials(workspaceId, integration_id, url, signal);
      const place = {
        workFolder: join(folder, "polls", deployment.id),
        timeoutMs: 60_000,
        signal,
        onLine() {},
      };
      return git.resolve({ url, ref, credentials, workspaceId }, place);
    },
  });
  const integrations = createIntegrationService({
    ...ground,
    github: createGithubApi(network),
    onPush: (integration, push) => pushes.onPush(integration, push),
  });

  async function sourceOf(revision: Revision, signal: AbortSignal): Promise<BuildSource> {
    const { repo_url, integration_id } = revision.build_config;
    if (revision.source === "github") {
      const { workspace_id: workspaceId, repo_commit_sha: commit } = revision;
      const url = repo_url ?? "";
      const credentials = await integrations.gitCredentials(workspaceId, integration_id, url, signal);
      const { repo_ref: ref } = revision.source_revision_config;
      return { kind: "git", url, ref, commit, credentials };
    }
    const path = revision.source_revision_config.source_tarball_path ?? "";
    const upload = await findUpload(database.sql, revision.deployment_id, path);
    if (!upload?.sha256) throw new Error(`The archive ${path} of revision ${revision.id} is gone.`);
    return { kind: "tarball", file: uploads.fileOf(path), sha256: upload.sha256 };
  }

  const targets = createTargets({
    database,
    openSecret: (id, sealed) => secretBox.open(sealed, instanceSecretContext(id)),
  });
  const meter = new Meter({ ...ground, usages: () => supervisor.usages() });
  const proxy = createProxy();
  const states = createEntryStates({ secretBox, clock });
  const { passes } = options;
  const pages =
    passes && options.credentialsRequired
      ? createPageDoors({ passes, states, platformUrl: publicUrl })
      : undefined;
  const gateway: GatewayOptions = {
    ...{ targets, proxy, origins, pages },
    onServed: (...answer) => meter.served(...answer),
    audit: options.audit,
    authorize: options.authorize,
    isPlatformCredential: options.isPlatformCredential,
  };
  const builder = new Builder({
    ...{ database, clock, git, folder, walls },
    checkProject: options.checkProject,
    environment: options.buildEnvironment,
    timeoutMs: settings.buildTimeoutMs,
    maxBytes: settings.buildMaxBytes,
    maxAtOnce: settings.buildConcurrency,
  });
  const wake = (deploymentId: string) => {
    targets.forget(deploymentId);
    reconciler.wake(deploymentId);
  };
  const builds = createBuildTasks({ ...ground, builder, sourceOf, onChange: wake });
  const supervisor = new Supervisor({ ...ground, runtime, folder, onChange: wake });
  const launches = createLaunchPlanner({
    ...{ database, clock, secretBox, urlOf },
    databaseUrl: options.databaseUrl,
    environment: options.serverEnvironment,
    defaultMemoryBytes: settings.defaultMemoryBytes,
    tracing,
  });
  const executor = createExecutor({
    ...ground,
    ...{ supervisor, builds, launches, urlOf, tracing },
    forgetRoute: targets.forget,
    purge: (deployment) => purge({ database, folder }, deployment),
  });
  const reconciler = createReconciler({
    ...ground,
    ...{ builds, executor, tracing },
    inFlight: proxy.inFlight,
    limits: settings,
  });
  /** Before anything is started: deployed code must find the platform's database shut. */
  async function closeDatabases(): Promise<void> {
    const roles = await listDatabaseNames(database.sql);
    const missing = await raiseDatabaseWalls(database.sql, {
      ownsServer: options.ownsDatabaseServer ?? false,
      roles,
    });
    if (missing.platform !== null)
      logger.warn(
        { database: missing.platform },
        "roles of deployments may connect to the platform's database: have its owner run `revoke connect, temporary on database … from public`",
      );
    if (missing.roles.length > 0)
      logger.warn(
        { roles: missing.roles },
        "roles of deployments stay without limits: another role made them, and only it or a superuser may alter them",
      );
    if (missing.others.length > 0)
      logger.info(
        { databases: missing.others },
        "roles of deployments may connect to other databases of this PostgreSQL server, which are left as they are",
      );
  }

  const stopReconciling = async () => {
    const stopped = reconciler.stop();
    supervisor.halt();
    await stopped;
  };
  const lease = createReconcileLease({
    database,
    logger,
    async onTaken(requireLease) {
      await clearLeftBuilds(folder);
      await closeDatabases();
      await supervisor.adopt(async (instance) => {
        const deployment = await readDeployment(database.sql, instance.deployment_id);
        const revision = await readRevision(database.sql, instance.revision_id);
        return deployment && revision ? launches.facts(deployment, revision) : null;
      });
      await reconciler.start(requireLease);
    },
    async onLost() {
      // Whoever has the lease next builds them again.
      await Promise.all([stopReconciling(), builds.stopAll()]);
    },
  });

  return {
    routes: [
      ...site.routes,
      ...(options.tokens ? deploymentTokenRoutes(deployments, options.tokens) : []),
      ...(passes ? pageCodeRoutes({ passes, states, find: targets.find, originOf: origins.originOf }) : []),
      ...uploadRoutes(uploads),
      ...revisionRoutes(revisionService, createRevisionFeed({ database, service: revisionService })),
      ...logRoutes(logs),
      ...logFeedRoutes(logs),
      ...metricRoutes({ ...ground, deployments, meter, inFlight: proxy.inFlight }),
      ...integrationRoutes(integrations, publicUrl),
      ...installationRoutes(),
      ...listenerRoutes({ database, clock }),
    ],
    hiddenRoutes: [
      ...gatewayRoutes(gateway),
      ...dashboardRoutes(options.consolePath ?? ((id) => `/deployments/${id}`)),
    ],
    onUpgrade(otherwise) {
      const own = createGatewayUpgrade({ ...gateway, logger });
      return (request, ...rest) => (isForGateway(request, origins) ? own : otherwise)(request, ...rest);
    },
    onRequest: (begin) => createGatewayListener({ ...gateway, begin: begin(gatewayRoute) }),
    jobHandlers: {},
    recurringJobs: [
      every({
        ...{ database, clock },
        kind: "control_plane.maintain",
        everyMs: 10 * 60_000,
        handler: async ({ signal }) => {
          await maintain({ database, clock, logger, folder }, signal);
          await tracing.endUnusedKeys();
        },
      }),
      every({
        ...{ database, clock },
        kind: "control_plane.poll_branches",
        everyMs: settings.gitPollMs,
        handler: ({ signal }) => pushes.poll(signal),
      }),
    ],
    isDeploymentOrigin: origins.isDeploymentOrigin,
    beforeWorkspaceDelete: (workspaceId) => removal.refuseWhileAny(workspaceId),
    isolation: runtime.isolation,
    workers: [
      {
        name: "control-plane.reconciler",
        // Deployed servers get the platform's address.
        needsAddress: true,
        async start() {
          await prepareDeploymentFolders(folder);
          const isolation = await runtime.isolation();
          if (isolation.kind === "none" || isolation.kind === "users")
            logger.warn({ isolation: isolation.kind }, describeIsolation(isolation));
          await lease.start();
        },
        async stop({ graceMs }) {
          const deadline = performance.now() + graceMs;
          const ending = [stopReconciling(), lease.stopTaking()];
          const stopped = await graceStop({
            graceMs,
            stopTaking: async () => {},
            underWay: () => ending,
            // What is being done to a deployment goes on from its rows at the next start.
            abort: () => [],
          });
          if (lease.holds()) {
            await builds.stopAll();
            if (!settings.keepServers) await supervisor.stopAll(Math.max(0, deadline - performance.now()));
          }
          await lease.stop();
          return stopped;
        },
      },
    ],
    async start() {
      await targets.start();
      meter.start();
    },
    async stop() {
      await meter.stop();
      await targets.stop();
      proxy.close();
    },
  };
}
