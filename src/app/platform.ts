import { type Config, roleNotes, workerRoles } from "../config/index.ts";
import type { ListenerPlace } from "../control-plane/mirror/listener-place.ts";
import { describeIsolation, type IsolationKind } from "../control-plane/sandbox/isolation.ts";
import type { Stopped } from "../platform/areas/area.ts";
import type { Clock } from "../platform/clock.ts";
import type { Database } from "../platform/db/database.ts";
import { openSecretBox } from "../platform/encryption/encryption-keys.ts";
import type { Route } from "../platform/http/route.ts";
import { listen, type RunningServer } from "../platform/http/server/server.ts";
import type { ServerEnv } from "../platform/http/server/server-env.ts";
import { createLogger, type Logger } from "../platform/logger.ts";
import type { MetricFigures } from "../platform/metrics.ts";
import { writeCredentials } from "../workspaces/installation/credentials-file.ts";
import { keyElsewhereText } from "./bootstrap-config.ts";
import { composePlatform, type Platform } from "./compose.ts";
import { openGround } from "./ground.ts";
import { Lifecycle } from "./lifecycle.ts";
import { openBlobs } from "./open-blobs.ts";
import { openClickHouse } from "./open-clickhouse.ts";
import { planRoles, type RolePlan } from "./roles.ts";
import type { WorkerProcesses } from "./worker-processes.ts";

export type Started = {
  url: string;
  port: number;
  databaseUrl: string;
  notes: string[];
  roles: RolePlan["names"];
  /** Processes beside this one that execute its runs. */
  workerProcesses: number;
  /** What stands between deployed code and the rest of this machine; null where none runs. */
  isolation: { kind: IsolationKind; message: string; hasProblem: boolean } | null;
  workspaceId: string;
  /** Null when this start did not make it: it is in the credentials file. */
  apiKey: string | null;
  /** False where another server made the key and this one has none. */
  hasKeyFile: boolean;
  /** Signs the administrator in to the console, once and soon. */
  signInLink(): Promise<string>;
  dataDir: string;
  database: "embedded" | "external";
};

export type App = {
  /** Opens the database, brings it up to date and builds the areas. `start` calls it too. */
  prepare(): Promise<void>;
  /** Serves on the configured address. */
  start(): Promise<Started>;
  /**
   * Drains requests and runs, then closes in reverse order; names what it had to interrupt. `takesLeave`: serves on for a
   * while before, where the settings say so. `graceMs`: another time than theirs.
   */
  stop(options?: { takesLeave?: boolean; graceMs?: number }): Promise<Stopped>;
  /** Of this process alone. */
  figures(): Promise<MetricFigures>;
  fetch(request: Request, env?: ServerEnv): Response | Promise<Response>;
  readonly routes: Route[];
};

type Prepared = {
  platform: Platform;
  plan: RolePlan;
  databaseUrl: string;
  notes: string[];
  workers: WorkerProcesses | undefined;
};

export type AppOptions = {
  logger?: Logger;
  clock?: Clock;
  consoleFolder?: string;
  listener?: ListenerPlace;
  /** Processes that take runs, jobs and exports off this one. */
  workers?: WorkerProcesses | undefined;
};

export async function createApp(config: Config, options: AppOptions = {}): Promise<App> {
  const logger = options.logger ?? createLogger({ level: config.logLevel });
  const graceMs = config.shutdownGraceMs;
  const life = new Lifecycle();
  let platform: Platform | undefined;
  let server: RunningServer | undefined;
  let preparing: Promise<Prepared> | undefined;
  const publicUrl = () => config.publicUrl ?? server?.url ?? `http://127.0.0.1:${config.port}`;

  async function prepare(): Promise<Prepared> {
    const { dataDir, secretKey } = config;
    const { database, databaseUrl, clock, notes } = await openGround({ ...config, logger, life });
    const { workers, notes: more } = await launchWorkers(options.workers, { database, life });
    const plan = planRoles(config.roles, config.exampleChat, workers ? workerRoles : []);
    const blobs = await openBlobs(config.blobs, { logger, life });
    const engine = await openClickHouse(config.clickHouse, {
      ...{ database, logger, life },
      isNeeded: plan.usesRuns,
    });
    const box = await openSecretBox({ dataDir, secretKey, database, logger });
    life.onClose(() => box.stop());
    platform = await composePlatform({
      ...{ config, plan, database, databaseUrl, logger, publicUrl },
      state: () => life.state,
      blobs: blobs.store,
      clickHouse: engine.clickHouse,
      secretBox: box.secretBox,
      clock: options.clock ?? clock,
      internalUrl: () => internalUrl(config, server),
      ...{ consoleFolder: options.consoleFolder, listener: options.listener, workerProcesses: workers },
    });
    await life.startAreas(platform.areas, { graceMs });
    await life.startWorkers(platform.workers.filter((worker) => !worker.needsAddress));
    const said = [...notes, ...more, ...blobs.notes, ...engine.notes];
    return { ...{ platform, plan, databaseUrl, workers }, notes: said };
  }

  const composed = (): Platform => {
    if (!platform) throw new Error("The app was used before it was prepared.");
    return platform;
  };

  return {
    get routes() {
      return composed().routes;
    },
    fetch: (request, env) => composed().http.fetch(request, env),
    async prepare() {
      preparing ??= prepare();
      await preparing;
    },
    async start() {
      preparing ??= prepare();
      const { platform, plan, databaseUrl, workers: processes, notes } = await preparing;
      const { http, workers, workspaces, onUpgrade, onRequest } = platform;
      server = await listen(http, { host: config.host, port: config.port, logger, onUpgrade, onRequest });
      life.serve(server);
      await life.startWorkers(workers.filter((worker) => worker.needsAddress));
      const place = { databaseUrl, publicUrl: publicUrl(), internalUrl: internalUrl(config, server) };
      processes?.begin(place, (processId) => platform.processLost(processId));
      if (processes) await life.startWorkers([processes]);
      life.started();
      const isolation = plan.runsForeignCode ? await platform.isolation() : null;
      const identity = workspaces.identity();
      const { workspaceId, apiKey } = identity;
      // With roles the key is a setting, which every machine has without a copy on its disk.
      if ((plan.isWhole || options.listener) && apiKey !== null)
        await writeCredentials(config.dataDir, { url: publicUrl(), workspaceId, apiKey });
      return {
        url: publicUrl(),
        port: server.port,
        databaseUrl,
        notes: [
          ...notes,
          ...(identity.apiKeyOrigin === "elsewhere" ? [keyElsewhereText(identity.keyPlace)] : []),
          ...roleNotes(config.roles),
        ],
        roles: plan.names,
        workerProcesses: processes?.count ?? 0,
        isolation: isolation && {
          ...{ kind: isolation.kind, message: describeIsolation(isolation) },
          hasProblem: isolation.problem !== null,
        },
        workspaceId,
        apiKey: identity.apiKeyOrigin === "generated" ? apiKey : null,
        hasKeyFile: apiKey !== null,
        signInLink: () => workspaces.makeSignInLink(publicUrl()),
        dataDir: config.dataDir,
        database: config.databaseUrl ? "external" : "embedded",
      };
    },
    stop: ({ takesLeave = false, graceMs: given = graceMs } = {}) =>
      life.stop({ graceMs: given, leaveMs: takesLeave ? config.shutdownLeaveMs : 0 }),
    figures: () => composed().metrics.figures(),
  };
}

/** They load their code while this process gets ready. */
async function launchWorkers(
  given: WorkerProcesses | undefined,
  { database, life }: { database: Database; life: Lifecycle },
): Promise<{ workers: WorkerProcesses | undefined; notes: string[] }> {
  if (!given) return { workers: undefined, notes: [] };
  // A start that fails ends them, too.
  life.onClose(() => given.stop({ graceMs: 0 }));
  const notes = await given.launch(database);
  return { workers: given.count > 0 ? given : undefined, notes };
}

/** A listener on every address is reached by the loopback address, even if `localhost` means another one. */
function internalUrl({ host, port, internalUrl: given }: Config, server: RunningServer | undefined): string {
  if (given !== undefined) return given;
  const anywhere = ["0.0.0.0", "::", "[::]"].includes(host);
  return server && !anywhere ? server.url : `http://127.0.0.1:${server?.port ?? port}`;
}
