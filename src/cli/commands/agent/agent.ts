import { rename, writeFile } from "node:fs/promises";
import { url as debuggerUrl } from "node:inspector";
import type { AgentApp, StartedAgent } from "../../../app/agent.ts";
import { type AgentConfig, readAgentConfig } from "../../../config/index.ts";
import { prepareDataFolder } from "../../../platform/data-folder/data-folder.ts";
import { lockDataFolder } from "../../../platform/data-folder/data-folder-lock.ts";
import { exitCodes } from "../../exit-codes.ts";
import { readVersion } from "../../program.ts";
import { watchCrash } from "../../server/crash.ts";
import { checkAddress } from "../../server/listen-probe.ts";
import { outliveReader } from "../../server/lost-reader.ts";
import { createServerLogger, stopServer, undoStart, watchStop } from "../../server/server-life.ts";
import { announceWait, createOutput, type Output } from "../../terminal/output.ts";
import { formatAgentBanner } from "./banner.ts";
import type { AgentOptions } from "./options.ts";

const whatNext = "runs go on from their last checkpoint at the next start";

/** Runs until it is asked to stop; the result is the exit code. */
export async function runAgent(options: AgentOptions): Promise<number> {
  const output = createOutput(options);
  const config = readAgentConfig(options.config, {
    TREADLE_PORT: options.port,
    TREADLE_HOST: options.host,
    TREADLE_DATA_DIR: options.dataDir,
    DATABASE_URL: options.databaseUrl,
  });
  const logger = createServerLogger(config.logLevel, output);
  outliveReader();
  const stopSignal = watchStop(output);
  const lock = await lockEmbedded(config);
  try {
    await checkAddress(config.host, config.port);
    // Loaded only now: faults of the settings, folder or port are reported without that second.
    const { createAgentApp } = await import("../../../app/agent.ts");
    const app = createAgentApp(config, { logger, watchdog: watchdogOf(config) });
    const crash = watchCrash(logger);
    await start(app, config, output);
    const reason = await Promise.race([stopSignal, crash]);
    return await stopServer(app, reason, { graceMs: config.shutdownGraceMs, output, whatNext });
  } finally {
    await lock?.release();
  }
}

/** Renamed into place: who waits for it sees the whole of it or nothing. */
async function writeReadyFile(path: string, facts: object): Promise<void> {
  await writeFile(`${path}.new`, JSON.stringify(facts), { mode: 0o600 });
  await rename(`${path}.new`, path);
}

/** The embedded database is in the folder, so only one process may use it. */
async function lockEmbedded(config: AgentConfig) {
  if (config.databaseUrl !== undefined) return undefined;
  await prepareDataFolder(config.dataDir);
  return lockDataFolder(config.dataDir);
}

/** Whoever stops at a breakpoint wants the process to wait. */
function watchdogOf({ watchdogMs }: AgentConfig) {
  return watchdogMs === 0 || debuggerUrl() !== undefined
    ? undefined
    : { timeoutMs: watchdogMs, exitCode: exitCodes.blocked.code };
}

async function start(app: AgentApp, config: AgentConfig, output: Output): Promise<void> {
  const done = announceWait(output, `Loading ${config.configPath}…`);
  let started: StartedAgent;
  try {
    started = await app.start();
  } catch (error) {
    throw await undoStart(app, error, config, output);
  } finally {
    done();
  }
  const database = config.databaseUrl === undefined ? "embedded" : "external";
  const { url, port, graphs, broken, notes } = started;
  const ready = { url, port, graphs, broken, database, notes, pid: process.pid };
  if (config.readyFile === undefined) output.data(ready);
  else await writeReadyFile(config.readyFile, ready);
  const facts = { ...started, version: readVersion(), config, database } as const;
  for (const line of formatAgentBanner(facts, output.paint)) output.line(line);
}
