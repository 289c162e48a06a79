import { existsSync } from "node:fs";
import { join } from "node:path";
import { AppError } from "../../../platform/errors.ts";
import { agentSettings } from "../../agent/agent-settings.ts";
import type { AgentOptions } from "../../agent/options.ts";
import { runAgent } from "../../agent/run-agent.ts";

/** Serves the project of a folder until it is asked to stop; the result is the exit code. */
export async function runDev(folder: string | undefined, options: AgentOptions): Promise<number> {
  const named = folder === undefined ? options.config : join(folder, options.config ?? "langgraph.json");
  const given = { ...options, ...(named === undefined ? {} : { config: named }) };
  const { configPath } = agentSettings(given);
  if (!existsSync(configPath)) {
    throw new AppError({
      code: "graph.config_missing",
      kind: "invalid",
      message: `There is no ${configPath}. Run it in the folder of a project, name the folder, or make a project with \`treadle new\`.`,
    });
  }
  return runAgent(given);
}
