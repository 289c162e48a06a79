import { type Areas, composeAreas } from "./compose.ts";
import type { Config } from "./config.ts";
import { describeIsolation, type IsolationKind } from "./control-plane/sandbox/isolation.ts";
import type { Clock } from "./platform/clock.ts";
import { Closers } from "./platform/closers.ts";
import { DatabaseClock } from "./platform/db/database-clock.ts";
import { type EmbeddedPostgres, startEmbeddedPostgres } from "./platform/db/embedded-postgres.ts";
import { migrate } from "./platform/db/migrate.ts";
import { openDatabase } from "./platform/db/open-database.ts";
import { openSecretBox } from "./platform/encryption-keys.ts";
import type { ServerEnv } from "./platform/http/pipeline.ts";
import type { Route } from "./platform/http/route.ts";
import { listen, type RunningServer } from "./platform/http/server.ts";
import { createLogger, type Logger } from "./platform/logger.ts";
import { migrationsFolder } from "./platform/package-facts.ts";
import { readCredentials, writeCredentials } from "./workspaces/credentials-file.ts";
import type { Workspaces } from "./workspaces/workspaces.ts";

export type Started = {
  url: string;
  port: number;
  databaseUrl: string;
  notes: string[];
  /** What stands between deployed code and the rest of this machine. */
  isolation: { kind: IsolationKind; message: string };
  workspaceId: string;
  /** Null when this start did not make it: it is in the credentials file. */
  apiKey: string | null;
  /** Signs the administrator in to the console, once and soon. */
  signInLink(): Promise<string>;
  dataDir: string;
  database: "embedded" | "external";
};

export type App = {
  /** Opens the database, brings it up to date and builds the areas. `start` does it by itself. */
  prepare(): Promise<void>;
  /** Serves on the configured address. */
  start(): Promise<Started>;
  /** Drains requests and runs, then closes in reverse order; names what it had to interrupt. */
  stop(): Promise<{ interrupted: string[] }>;
  fetch(request: Request, env?: ServerEnv): Response | Promise<Response>;
  readonly routes: Route[];
};

export async function createApp(
  config: Config,
  options: { logger?: Logger; clock?: Clock; consoleFolder?: string } = {},
): Promise<App> {
  const logger = options.logger ?? createLogger({ level: config.logLevel });
  const closers = new Closers();
  let areas: Areas | undefined;
  let server: RunningServer | undefined;
  let preparing: Promise<Prepared> | undefined;
  const publicUrl = () => config.publicUrl ?? server?.url ?? `http://127.0.0.1:${config.port}`;

  async function prepare(): Promise<Prepared> {
    const postgres = await startPostgres(config, logger, closers);
    const databaseUrl = config.databaseUrl ?? postgres!.url;
    await migrate({ url: databaseUrl, directory: migrationsFolder, logger });
    const database = openDatabase({ url: databaseUrl, poolSize: config.databasePool, logger });
    closers.push(() => database.close());
    const databaseClock = new DatabaseClock({ database, logger });
    await databaseClock.start();
    closers.push(async () => databaseClock.stop());
    const box = await openSecretBox({
      dataDir: config.dataDir,
      secretKey: config.secretKey,
      database,
      logger,
    });
    closers.push(() => box.stop());
    areas = await composeAreas({
      config,
      database,
      databaseUrl,
      secretBox: box.secretBox,
      clock: options.clock ?? databaseClock,
      logger,
      publicUrl,
      consoleFolder: options.consoleFolder,
      internalUrl: () => internalUrl(config, server),
    });
    const { workspaces } = areas;
    closers.push(() => workspaces.stop());
    const remembered = await readCredentials(config.dataDir);
    const identity = await workspaces.bootstrap({
      apiKey: config.apiKey,
      workspaceId: config.workspaceId,
      rememberedKey: remembered?.apiKey,
    });
    const { authService } = areas;
    await authService.start();
    closers.push(() => authService.stop());
    await areas.traces.start();
    await areas.agentServer.start();
    await areas.bulkExport.start();
    await areas.startJobs();
    return { databaseUrl, notes: postgres?.notes ?? [], identity };
  }

  return {
    get routes() {
      return prepared(areas).routes;
    },
    fetch: (request, env) => prepared(areas).http.fetch(request, env),
    async prepare() {
      preparing ??= prepare();
      await preparing;
    },
    async start() {
      preparing ??= prepare();
      const { databaseUrl, notes, identity } = await preparing;
      const { http, agentServer, controlPlane, workspaces } = prepared(areas);
      const onUpgrade = controlPlane.onUpgrade(agentServer.onUpgrade(http.authorize));
      const onRequest = controlPlane.onRequest(http.raw);
      server = await listen(http, { host: config.host, port: config.port, logger, onUpgrade, onRequest });
      // Only now: deployed servers are told the platform's address.
      await controlPlane.start();
      const isolation = await controlPlane.isolation();
      await writeCredentials(config.dataDir, {
        url: publicUrl(),
        workspaceId: identity.workspaceId,
        apiKey: identity.apiKey,
      });
      return {
        url: publicUrl(),
        port: server.port,
        databaseUrl,
        notes,
        isolation: { kind: isolation.kind, message: describeIsolation(isolation) },
        workspaceId: identity.workspaceId,
        apiKey: identity.apiKeyOrigin === "generated" ? identity.apiKey : null,
        signInLink: () => workspaces.makeSignInLink(publicUrl()),
        dataDir: config.dataDir,
        database: config.databaseUrl ? "external" : "embedded",
      };
    },
    async stop() {
      const graceMs = config.shutdownGraceMs;
      // One grace for all of them: requests, runs and jobs end beside one another.
      const runs = areas?.agentServer.stop(graceMs);
      const [requests, left] = await Promise.all([
        server?.close({ graceMs, ...(runs ? { streamsUntil: runs } : {}) }),
        runs,
        areas?.bulkExport.stop({ graceMs }),
        areas?.jobs.stop({ graceMs }),
        areas?.controlPlane.stop(graceMs),
      ]);
      const interrupted = [...(requests?.interrupted ?? []), ...(left?.interrupted ?? [])];
      await areas?.chat.stop();
      await areas?.traces.stop();
      await closers.run();
      return { interrupted };
    },
  };
}

/** A listener on every address is reached by the loopback one, whatever `localhost` stands for. */
function internalUrl({ host, port }: Config, server: RunningServer | undefined): string {
  const anywhere = ["0.0.0.0", "::", "[::]"].includes(host);
  return server && !anywhere ? server.url : `http://127.0.0.1:${server?.port ?? port}`;
}

type Prepared = {
  databaseUrl: string;
  notes: string[];
  identity: Awaited<ReturnType<Workspaces["bootstrap"]>>;
};

function prepared(areas: Areas | undefined): Areas {
  if (!areas) throw new Error("The app is used before it was prepared.");
  return areas;
}

async function startPostgres(
  config: Config,
  logger: Logger,
  closers: Closers,
): Promise<EmbeddedPostgres | undefined> {
  if (config.databaseUrl !== undefined) return undefined;
  const postgres = await startEmbeddedPostgres({ dataDir: config.dataDir, logger });
  closers.push(() => postgres.stop());
  return postgres;
}
