import { randomBytes, randomUUID } from "node:crypto";
import { dirname } from "node:path";
import { fileURLToPath } from "node:url";
import { readAwaitedWork } from "../../src/agent-server/awaited-work.ts";
import { checkProject } from "../../src/agent-server/graphs/check-project.ts";
import { childEnvironments, type DeploymentConfig, readConfig } from "../../src/config/index.ts";
import type { BuildPods } from "../../src/control-plane/builds/pods/build-pods.ts";
import { pythonMounts } from "../../src/control-plane/builds/python/built-environment.ts";
import { machinePythons } from "../../src/control-plane/builds/python/python-builder.ts";
import { createControlPlane } from "../../src/control-plane/control-plane.ts";
import { ProcessRuntime } from "../../src/control-plane/runtimes/process-runtime.ts";
import type { Runtime } from "../../src/control-plane/runtimes/runtime.ts";
import type { IsolationSetting } from "../../src/control-plane/sandbox/isolation.ts";
import { type Enclosing, Walls } from "../../src/control-plane/sandbox/walls.ts";
import { startArea, stopArea } from "../../src/platform/areas/area.ts";
import type { BlobPlace } from "../../src/platform/blob/blob-place.ts";
import { openBlobStore } from "../../src/platform/blob/open-blob-store.ts";
import { systemClock } from "../../src/platform/clock.ts";
import { openDatabase } from "../../src/platform/db/connection/open-database.ts";
import type { Database } from "../../src/platform/db/database.ts";
import { dropOwnDatabase } from "../../src/platform/db/own-database.ts";
import { raw } from "../../src/platform/db/raw.ts";
import { SecretBox } from "../../src/platform/encryption/secret-box.ts";
import { DatabaseIdempotency } from "../../src/platform/http/idempotency/idempotency-store.ts";
import { createHttpApp, type HttpApp } from "../../src/platform/http/pipeline/http-app.ts";
import { listen, type RunningServer } from "../../src/platform/http/server/server.ts";
import { JobWorker } from "../../src/platform/jobs/job-worker.ts";
import { createLogger } from "../../src/platform/logger.ts";
import { Metrics } from "../../src/platform/metrics.ts";
import { dnsTxtRecords } from "../../src/platform/network/dns-records.ts";
import { NetworkGuard } from "../../src/platform/network/network-guard.ts";
import { createWorkspaces } from "../../src/workspaces/workspaces.ts";
import { ensureBubblewrap } from "./components/bubblewrap.ts";
import { createOtherAreas } from "./other-areas.ts";

const treadle = fileURLToPath(new URL("../../bin/treadle.js", import.meta.url));
/** How deployed servers are started. */
export const treadleCommand = [process.execPath, "--max-semi-space-size=16", treadle] as const;
export const packageRoot = dirname(dirname(treadle));

/** What is in force on this machine: a sandbox, wherever bubblewrap is installed. */
export const machineWalls = (setting: IsolationSetting = "auto") =>
  new Walls({ setting, mustPass: [process.execPath, treadle] });

export type ControlPlaneServerOptions = {
  databaseUrl: string;
  /** What the database knows its connections by. */
  applicationName?: string;
  folder: string;
  /** The folder, unless there is another. */
  blobs?: BlobPlace;
  /** Any free one, unless the next server is to be found where the last one was. */
  port?: number;
  apiKey?: string;
  workspaceId?: string;
  settings?: Partial<DeploymentConfig>;
  edition?: "self-hosted" | "cloud";
  allowPrivateAddresses?: boolean;
  agentAuthRequired?: boolean;
  deploymentsUrl?: string;
  /** Of several that share one address. Default: its own. */
  publicUrl?: string;
  runtime?: Runtime;
  buildPods?: BuildPods | undefined;
  walls?: Enclosing;
  logLevel?: string;
  /** Deployments are traced; traces and accounts of people are served too. */
  traced?: boolean;
  /** Leave the deployments' databases where they are: another server continues with them. */
  keepDatabases?: boolean;
  /** Other servers find what this one has built. */
  sharesBuilds?: boolean;
};

export type Answer<Body> = { status: number; body: Body; headers: Headers };

/** The control plane and what it stands on, listening on a free port; the same parts the platform composes. */
export async function startControlPlane(options: ControlPlaneServerOptions) {
  // Without it deployed code of root runs as other users, to whom folders of tests are closed.
  if (!options.walls && process.getuid?.() === 0) await ensureBubblewrap();
  const logger = createLogger({ level: options.logLevel ?? "silent" });
  const clock = systemClock;
  const database = openDatabase({
    ...{ url: options.databaseUrl, poolSize: 8, logger },
    ...(options.applicationName ? { applicationName: options.applicationName } : {}),
  });
  const secretBox = new SecretBox({ currentKey: "a secret key for tests only" });
  const apiKey = options.apiKey ?? `test-key-${randomBytes(16).toString("hex")}`;
  const workspaces = createWorkspaces({ database, secretBox, clock, logger });
  const identity = await workspaces.bootstrap({ apiKey, workspaceId: options.workspaceId ?? randomUUID() });
  const network = new NetworkGuard({ allowPrivateAddresses: options.allowPrivateAddresses ?? true });
  const environments = childEnvironments();
  const edition = options.edition ?? "self-hosted";
  let http: HttpApp | undefined;
  let server: RunningServer | undefined;
  const otherAreas = options.traced
    ? createOtherAreas({
        ...{ database, secretBox, clock, logger, guard: network, workspaces },
        url: () => server?.url ?? "http://127.0.0.1",
      })
    : undefined;
  const walls = options.walls ?? machineWalls(options.settings?.isolation);
  const pythons = machinePythons({
    folder: options.folder,
    environment: environments.build,
    named: options.settings?.pythons ?? [],
  });
  const blobs = await openBlobStore(options.blobs ?? { kind: "folder", folder: options.folder });
  const plane = createControlPlane({
    ...{ database, secretBox, clock, logger, network, checkProject },
    databaseUrl: options.databaseUrl,
    awaitedWork: readAwaitedWork,
    txtRecords: dnsTxtRecords(options.settings?.dnsServers ?? ["127.0.0.1:9"]),
    tracing: otherAreas?.tracing,
    walls,
    buildPods: options.buildPods,
    runtime:
      options.runtime ??
      new ProcessRuntime({
        ...{ command: treadleCommand, packageRoot, walls, logger },
        host: options.settings?.agentHost,
        compileCache: options.settings?.compileCache,
        projectMounts: (folder, configPath) => pythonMounts(pythons, folder, configPath),
      }),
    settings: { ...readConfig({}).deployments, edition, ...options.settings },
    folder: options.folder,
    blobs,
    sharesBlobs: options.blobs !== undefined,
    sharesBuilds: options.sharesBuilds ?? false,
    publicUrl: () => options.publicUrl ?? server?.url ?? "http://127.0.0.1",
    authorize: (...args) => http!.authorize(...args),
    isPlatformCredential: workspaces.isCredential,
    hasChosenKeys: workspaces.hasChosenKeys,
    recognise: (headers) => workspaces.authenticator.authenticate(headers),
    passes: workspaces.pagePasses,
    audit: workspaces.audit,
    credentialsRequired: options.agentAuthRequired ?? false,
    deploymentsUrl: () => options.deploymentsUrl ?? `http://{slug}.localhost:${server?.port ?? 0}`,
    buildEnvironment: environments.build,
    serverEnvironment: environments.server,
  });
  http = createHttpApp({
    routes: [...workspaces.routes, ...plane.routes, ...plane.hiddenRoutes, ...(otherAreas?.routes ?? [])],
    authenticator: workspaces.authenticator,
    agentAuthRequired: options.agentAuthRequired ?? false,
    logger,
    metrics: new Metrics({ processMetrics: false }),
    corsOrigins: [],
    cors: { neverTrusted: plane.isDeploymentOrigin },
    documents: [],
    validateResponses: true,
    idempotency: new DatabaseIdempotency({
      sql: database.sql,
      clock,
      secretBox,
    }),
    aliases: { "/api-host": ["/v1", "/v2", "/o"] },
  });
  const jobs = new JobWorker({
    ...{ database, clock, logger },
    handlers: {
      ...plane.jobHandlers,
      ...Object.fromEntries(plane.recurringJobs.map((job) => [job.kind, job.handler])),
    },
  });
  server = await listen(http, {
    ...{ host: "127.0.0.1", port: options.port ?? 0, logger },
    onUpgrade: plane.onUpgrade((_request, socket) => socket.destroy()),
    onRequest: plane.onRequest(http.raw),
  });
  await otherAreas?.start();
  await startArea(plane);
  await jobs.start();
  const url = server.url;
  return {
    url,
    apiKey,
    database,
    secretBox,
    recurringJobs: plane.recurringJobs,
    workspaceId: identity.workspaceId,
    async call<Body = Record<string, unknown>>(
      method: string,
      path: string,
      body?: unknown,
      headers: Record<string, string> = {},
    ): Promise<Answer<Body>> {
      const response = await fetch(`${url}${path}`, {
        method,
        headers: {
          "x-api-key": apiKey,
          "x-tenant-id": identity.workspaceId,
          ...(body === undefined ? {} : { "content-type": "application/json" }),
          ...headers,
        },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      });
      const text = await response.text();
      return {
        status: response.status,
        headers: response.headers,
        body: (text === "" ? undefined : JSON.parse(text)) as Body,
      };
    },
    async stop() {
      await server.close({ graceMs: 1_000 });
      await jobs.stop();
      await stopArea(plane, { graceMs: 5_000 });
      await otherAreas?.stop();
      await workspaces.stop();
      if (!options.keepDatabases) await dropDeploymentDatabases(database);
      blobs.close();
      await database.close();
    },
  };
}

export type ControlPlaneServer = Awaited<ReturnType<typeof startControlPlane>>;

/** They live beside the test's own database, which is dropped without them. */
export async function dropDeploymentDatabases(database: Database): Promise<void> {
  const { rows } = await raw<{ name: string }>`select database_name as name from deployments`.execute(
    database.sql,
  );
  for (const { name } of rows) await dropOwnDatabase(database.sql, name);
}
