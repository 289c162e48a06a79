import { type ChildProcess, spawnProcess } from "./components/process.ts";
import { treadleBin } from "./treadle.ts";

export type AgentReady = {
  url: string;
  port: number;
  graphs: string[];
  broken: Record<string, string>;
  database: "embedded" | "external";
  notes: string[];
  pid: number;
};

export type RunningAgent = { process: ChildProcess; ready: AgentReady };

/** The real `treadle agent --json` on a free port, once it has reported that it is ready. */
export async function startAgent(
  configPath: string,
  env: Record<string, string>,
  args: string[] = [],
): Promise<RunningAgent> {
  const child = spawnAgent(configPath, env, args);
  const line = await child.waitForLine(/^\{"url"/, 60_000);
  return { process: child, ready: JSON.parse(line) as AgentReady };
}

export function spawnAgent(
  configPath: string,
  env: Record<string, string>,
  args: string[] = [],
): ChildProcess {
  return spawnProcess(
    process.execPath,
    [treadleBin, "agent", "--json", "--port", "0", "--config", configPath, ...args],
    {
      name: "treadle agent",
      env: {
        TREADLE_LOG_LEVEL: "warn",
        TREADLE_VALIDATE_RESPONSES: "1",
        BG_JOB_SHUTDOWN_GRACE_PERIOD_SECS: "5",
        ...env,
      },
    },
  );
}
