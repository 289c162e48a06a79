import { url as debuggerUrl } from "node:inspector";
import type { WatchdogOptions } from "../../agent-server/execution/watchdog.ts";
import { type AgentConfig, readAgentConfig } from "../../config/index.ts";
import { exitCodes } from "../exit-codes.ts";
import type { AgentOptions } from "./options.ts";

/** The settings of an agent server: what the command line says, then the environment. */
export function agentSettings(options: AgentOptions): AgentConfig {
  return readAgentConfig(options.config, {
    TREADLE_PORT: options.port,
    TREADLE_HOST: options.host,
    TREADLE_DATA_DIR: options.dataDir,
    DATABASE_URL: options.databaseUrl,
    TREADLE_LOG_LEVEL: options.verbose ? "debug" : undefined,
  });
}

/** At a breakpoint of a debugger the process must wait, so there is no watchdog then. */
export function watchdogOf({ watchdogMs }: AgentConfig): WatchdogOptions | undefined {
  return watchdogMs === 0 || debuggerUrl() !== undefined
    ? undefined
    : { timeoutMs: watchdogMs, exitCode: exitCodes.blocked.code };
}
