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
import type { Stopped } from "../platform/areas/area.ts";
import type { Clock } from "../platform/clock.ts";
import { AppError } from "../platform/errors.ts";
import { listen } from "../platform/http/server/server.ts";
import type { Logger } from "../platform/logger.ts";
import { composeAgent } from "./compose-agent.ts";
import { openGround } from "./ground.ts";
import { Lifecycle } from "./lifecycle.ts";
import { loadProject } from "./load-project.ts";

export type StartedAgent = {
  url: string;
  port: number;
  databaseUrl: string;
  graphs: string[];
  /** Graph to the reason it is not served. */
  broken: Record<string, string>;
  notes: string[];
};

export type AgentApp = {
  start(): Promise<StartedAgent>;
  stop(): Promise<Stopped>;
};

/** One agent server for one project, for `treadle agent`: the sibling of `platform.ts`. */
export function createAgentApp(
  config: AgentConfig,
  options: { logger: Logger; clock?: Clock; watchdog?: WatchdogOptions | undefined },
): AgentApp {
  const { logger } = options;
  const graceMs = config.shutdownGraceMs;
  const life = new Lifecycle();

  return {
    async start() {
      const globals = new ProjectGlobals(logger);
      life.onClose(async () => globals.remove());
      const project = await loadProject({
        configPath: config.configPath,
        environment: currentEnvironment(),
        applyEnvironment,
        logger,
        python: { workers: config.pythonWorkers, watchdogMs: config.watchdogMs },
        server: {
          callServer: (request) => globals.call(request),
          passOn: (request) => globals.passOn(request),
        },
      });
      life.onClose(() => project.close());
      refuseToStandOpen(config, project);
      const applicationName = "treadle agent";
      const { database, databaseUrl, clock, notes } = await openGround({
        ...config,
        applicationName,
        logger,
        life,
      });
      let url = config.publicUrl ?? "";
      const agent = composeAgent({
        ...{ config, project, database, logger, globals },
        clock: options.clock ?? clock,
        storeIndex: await loadStoreIndex(project.config, currentEnvironment(), project.embed),
        defaultConfigs: readDefaultConfigs(currentEnvironment()),
        publicUrl: () => url,
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
        logger.error({ graphId, reason: error.message }, "a graph cannot be served; the others are");
      }
      return {
        url,
        port: server.port,
        databaseUrl,
        graphs: [...project.graphs.keys()],
        broken: Object.fromEntries([...project.broken].map(([id, error]) => [id, error.message])),
        notes: [...project.warnings, ...notes],
      };
    },
    stop: () => life.stop({ graceMs }),
  };
}

function refuseToStandOpen(config: AgentConfig, project: LoadedProject): void {
  if (!config.needsGuard || project.auth) return;
  throw new AppError({
    code: "config.invalid",
    kind: "invalid",
    message:
      "Callers are to be asked for a key, but there is none: set TREADLE_API_KEY to a text of 16 or more characters, " +
      `give ${config.configPath} an "auth" of its own, listen on 127.0.0.1 without LANGGRAPH_AUTH_TYPE, or say TREADLE_AGENT_AUTH=open.`,
  });
}
