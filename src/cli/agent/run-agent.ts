import type { AgentApp, StartedAgent } from "../../app/agent.ts";
import type { AgentConfig } from "../../config/index.ts";
import { watchCrash } from "../server/crash.ts";
import { checkAddress } from "../server/listen-probe.ts";
import { outliveReader } from "../server/lost-reader.ts";
import { createServerLogger, stopServer, undoStart, watchStop } from "../server/server-life.ts";
import { collectStartGarbage } from "../server/start-garbage.ts";
import { announceWait, createOutput, type Output } from "../terminal/output.ts";
import { lockAgentFolder } from "./agent-data-folder.ts";
import { agentSettings, watchdogOf } from "./agent-settings.ts";
import { announceAgent, newStudioSecret } from "./announce-agent.ts";
import type { AgentOptions } from "./options.ts";
import { whatNext } from "./what-next.ts";

/** Runs until it is asked to stop; the result is the exit code. */
export async function runAgent(options: AgentOptions): Promise<number> {
  if (options.generation) return (await import("./run-generation.ts")).runGeneration(options);
  if (!options.reload) return serveOnce(options);
  return (await import("./run-reloading.ts")).runReloading(options);
}

async function serveOnce(options: AgentOptions): Promise<number> {
  const output = createOutput(options);
  const config = agentSettings(options);
  const logger = createServerLogger(config.logLevel, output);
  outliveReader();
  const stopSignal = watchStop(output);
  const lock = await lockAgentFolder(config);
  try {
    await checkAddress(config.host, config.port);
    // Loaded only now: faults of the settings, folder or port are reported without that second.
    const { createAgentApp } = await import("../../app/agent.ts");
    const studioSecret = newStudioSecret();
    const app = createAgentApp(config, {
      ...{ logger, studioSecret, watchdog: watchdogOf(config) },
      // A new database takes longer than the project.
      onLoaded: collectStartGarbage,
    });
    const crash = watchCrash(logger);
    const started = await start(app, config, output);
    const database = config.databaseUrl === undefined ? "embedded" : "external";
    await announceAgent({ started, config, database, studioSecret, opens: options.open }, output);
    const reason = await Promise.race([stopSignal, crash]);
    return await stopServer(app, reason, { graceMs: config.shutdownGraceMs, output, whatNext });
  } finally {
    await lock?.release();
  }
}

async function start(app: AgentApp, config: AgentConfig, output: Output): Promise<StartedAgent> {
  const done = announceWait(output, `Loading ${config.configPath}…`);
  try {
    return await app.start();
  } catch (error) {
    throw await undoStart(app, error, config, output);
  } finally {
    done();
  }
}
