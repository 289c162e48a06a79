import { Watchdog, type WatchdogOptions } from "../agent-server/execution/watchdog.ts";
import { loadStoreIndex } from "../agent-server/graphs/javascript/project-store.ts";
import type { LoadedProject } from "../agent-server/graphs/loaded-project.ts";
import { ProjectGlobals } from "../agent-server/http-app/project-globals.ts";
import {
  type AgentConfig,
  applyEnvironment,
  currentEnvironment,
  readDefaultConfigs,
} from "../config/index.ts";
import { type FailedReload, Studio } from "../console/studio.ts";
import type { Stopped } from "../platform/areas/area.ts";
import type { Clock } from "../platform/clock.ts";
import { AppError } from "../platform/errors.ts";
import type { Logger } from "../platform/logger.ts";
import { EarlyGround } from "./early-ground.ts";
import { openGround } from "./ground.ts";
import { Lifecycle } from "./lifecycle.ts";
import { loadProject } from "./load-project.ts";

export type { FailedReload } from "../console/studio.ts";

export type StartedAgent = {
  url: string;
  port: number;
  databaseUrl: string;
  graphs: string[];
  /** Graph to the reason it is not served. */
  broken: Record<string, string>;
  notes: string[];
  /** Whether the studio is served beside it, at `/studio`. */
  hasStudio: boolean;
};

export type AgentApp = {
  start(): Promise<StartedAgent>;
  /** `takesLeave`: serves on for a while before, where the settings say so. */
  stop(options?: { takesLeave?: boolean }): Promise<Stopped>;
};

export type AgentAppOptions = {
  logger: Logger;
  clock?: Clock;
  watchdog?: WatchdogOptions | undefined;
  /** Makes and recognises links to the studio; without it there is none. */
  studioSecret?: string;
  /** Of the project's last change, null if it was loaded; only where its files are watched. */
  failedReload?: () => FailedReload | null;
  /** Without one of these graphs it does not start. */
  mustServe?: readonly string[];
  /** The project is loaded; nothing of it is served yet. */
  onLoaded?(): void;
};

/** One agent server for one project, for `treadle agent`: the sibling of `platform.ts`. */
export function createAgentApp(config: AgentConfig, options: AgentAppOptions): AgentApp {
  const { logger } = options;
  const graceMs = config.shutdownGraceMs;
  const life = new Lifecycle();

  return {
    async start() {
      const globals = new ProjectGlobals(logger);
      life.onClose(async () => globals.remove());
      // What fails there is thrown where it is needed.
      const onWaiting = () => void importServing().catch(() => undefined);
      const ground = new EarlyGround(() =>
        openGround({ ...config, applicationName: "treadle agent", logger, life, onWaiting }),
      );
      const project = await ground.beside(loadServed(config, options, { life, globals, ground }));
      const { database, databaseUrl, clock, notes } = await ground.opened();
      const [{ composeAgent }, { listen }] = await importServing();
      let url = config.publicUrl ?? "";
      const studio = studioOf(config, project, options);
      const agent = composeAgent({
        ...{ config, project, database, logger, globals },
        clock: options.clock ?? clock,
        storeIndex: await loadStoreIndex(project.config, currentEnvironment(), project.embed),
        defaultConfigs: readDefaultConfigs(currentEnvironment()),
        publicUrl: () => url,
        studio,
      });
      globals.serve((request) => agent.inner(request), agent.own);
      // Before any run begins and not while the project loads, which may block for as long as it takes.
      if (options.watchdog) {
        const record = { databaseUrl, processId: agent.processId };
        const watchdog = new Watchdog({ ...options.watchdog, record });
        life.onClose(() => watchdog.stop());
      }
      await life.startAreas(agent.areas, { graceMs });
      await life.startWorkers(agent.workers);
      const place = { host: config.host, port: config.port, logger };
      const server = await listen({ fetch: agent.fetch }, { ...place, ...agent.door });
      life.serve(server);
      url = config.publicUrl ?? server.url;
      for (const [graphId, error] of project.broken) {
        logger.error({ graphId, reason: error.message }, "a graph cannot be served");
      }
      return {
        url,
        port: server.port,
        databaseUrl,
        graphs: [...project.graphs.keys()],
        broken: Object.fromEntries([...project.broken].map(([id, error]) => [id, error.message])),
        notes: [...project.warnings, ...notes],
        hasStudio: studio !== undefined,
      };
    },
    stop: ({ takesLeave = false } = {}) =>
      life.stop({ graceMs, leaveMs: takesLeave ? config.shutdownLeaveMs : 0 }),
  };
}

/** Half of what this program imports, while Python's processes and PostgreSQL start. */
const importServing = () =>
  Promise.all([import("./compose-agent.ts"), import("../platform/http/server/server.ts")]);

type Loading = { life: Lifecycle; globals: ProjectGlobals; ground: EarlyGround<unknown> };

/** The project, if it is one that may be served. */
async function loadServed(
  config: AgentConfig,
  { logger, mustServe = [], onLoaded }: AgentAppOptions,
  { life, globals, ground }: Loading,
): Promise<LoadedProject> {
  const project = await loadProject({
    configPath: config.configPath,
    environment: currentEnvironment(),
    applyEnvironment,
    logger,
    python: {
      workers: config.pythonWorkers,
      watchdogMs: config.watchdogMs,
      memoryLimitMb: config.memoryLimitMb,
      spare: config.pythonSpare,
    },
    server: {
      callServer: (request) => globals.call(request),
      passOn: (request) => globals.passOn(request),
    },
    onStarting: () => ground.begin(),
  });
  life.onClose(() => project.close());
  refuseToStandOpen(config, project);
  requireGraphs(mustServe, project);
  onLoaded?.();
  return project;
}

/** Behind a gateway people use the console, and below a prefix its page would not find its files. */
function studioOf(
  { instanceSecret, mountPrefix, consoleFolder }: AgentConfig,
  project: LoadedProject,
  { studioSecret, failedReload }: AgentAppOptions,
): Studio | undefined {
  const { http } = project.config.file;
  if (studioSecret === undefined || instanceSecret !== undefined || http?.disable_ui) return undefined;
  return (mountPrefix ?? http?.mount_prefix)
    ? undefined
    : new Studio(studioSecret, { folder: consoleFolder, failedReload });
}

function refuseToStandOpen(config: AgentConfig, project: LoadedProject): void {
  if (!config.needsGuard || project.auth) return;
  throw new AppError({
    code: "config.invalid",
    kind: "invalid",
    message:
      "Requests need a key, but none is set: set TREADLE_API_KEY to a text of 16 or more characters, " +
      `give ${config.configPath} an "auth" of its own, listen on 127.0.0.1 without LANGGRAPH_AUTH_TYPE, or set TREADLE_AGENT_AUTH=open.`,
  });
}

/** A graph that is no longer in the file is not missed. */
function requireGraphs(graphIds: readonly string[], { broken }: LoadedProject): void {
  const missing = graphIds.flatMap((graphId) => broken.get(graphId) ?? []);
  if (missing.length === 0) return;
  const [first] = missing;
  throw new AppError({
    code: "graph.load_failed",
    kind: "conflict",
    message: missing.map(({ message }) => message).join("\n"),
    cause: first,
  });
}
