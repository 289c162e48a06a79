import type { Config } from "../config/index.ts";
import { describeIsolation, type IsolationKind } from "../control-plane/sandbox/isolation.ts";
import type { Stopped } from "../platform/areas/area.ts";
import type { Clock } from "../platform/clock.ts";
import { openSecretBox } from "../platform/encryption/encryption-keys.ts";
import type { Route } from "../platform/http/route.ts";
import { listen, type RunningServer } from "../platform/http/server/server.ts";
import type { ServerEnv } from "../platform/http/server/server-env.ts";
import { createLogger, type Logger } from "../platform/logger.ts";
import { writeCredentials } from "../workspaces/installation/credentials-file.ts";
import { composePlatform, type Platform } from "./compose.ts";
import { openGround } from "./ground.ts";
import { Lifecycle } from "./lifecycle.ts";

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
  /**
   * Drains requests and runs, then closes in reverse order; names what it had to interrupt. `takesLeave`: serves on for a
   * while before, where the settings say so.
   */
  stop(options?: { takesLeave?: boolean }): Promise<Stopped>;
  fetch(request: Request, env?: ServerEnv): Response | Promise<Response>;
  readonly routes: Route[];
};

type Prepared = { platform: Platform; databaseUrl: string; notes: string[] };

export async function createApp(
  config: Config,
  options: { logger?: Logger; clock?: Clock; consoleFolder?: string } = {},
): Promise<App> {
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
    const box = await openSecretBox({ dataDir, secretKey, database, logger });
    life.onClose(() => box.stop());
    platform = await composePlatform({
      ...{ config, database, databaseUrl, logger, publicUrl },
      secretBox: box.secretBox,
      clock: options.clock ?? clock,
      internalUrl: () => internalUrl(config, server),
      consoleFolder: options.consoleFolder,
    });
    await life.startAreas(platform.areas, { graceMs });
    await life.startWorkers(platform.workers.filter((worker) => !worker.needsAddress));
    return { platform, databaseUrl, notes };
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
      const { platform, databaseUrl, notes } = await preparing;
      const { http, workers, workspaces, onUpgrade, onRequest } = platform;
      server = await listen(http, { host: config.host, port: config.port, logger, onUpgrade, onRequest });
      life.serve(server);
      await life.startWorkers(workers.filter((worker) => worker.needsAddress));
      const isolation = await platform.isolation();
      const { workspaceId, apiKey, apiKeyOrigin } = workspaces.identity();
      await writeCredentials(config.dataDir, { url: publicUrl(), workspaceId, apiKey });
      return {
        url: publicUrl(),
        port: server.port,
        databaseUrl,
        notes,
        isolation: { kind: isolation.kind, message: describeIsolation(isolation) },
        workspaceId,
        apiKey: apiKeyOrigin === "generated" ? apiKey : null,
        signInLink: () => workspaces.makeSignInLink(publicUrl()),
        dataDir: config.dataDir,
        database: config.databaseUrl ? "external" : "embedded",
      };
    },
    stop: ({ takesLeave = false } = {}) =>
      life.stop({ graceMs, leaveMs: takesLeave ? config.shutdownLeaveMs : 0 }),
  };
}

/** A listener on every address is reached by the loopback one, whatever `localhost` stands for. */
function internalUrl({ host, port }: Config, server: RunningServer | undefined): string {
  const anywhere = ["0.0.0.0", "::", "[::]"].includes(host);
  return server && !anywhere ? server.url : `http://127.0.0.1:${server?.port ?? port}`;
}
