import { type ChildProcess, spawnProcess } from "./components/process.ts";
import { treadleBin } from "./treadle.ts";

export type AgentReady = {
  url: string;
  port: number;
  graphs: string[];
  broken: Record<string, string>;
  database: "embedded" | "external";
  notes: string[];
  /** The link that signs a browser in to the studio. */
  studio?: string;
  pid: number;
};

export type RunningAgent = { process: ChildProcess; ready: AgentReady };

/** The real `treadle agent --json` on a free port, once it has reported that it is ready. */
export async function startAgent(
  configPath: string,
  env: Record<string, string>,
  args: string[] = [],
): Promise<RunningAgent> {
  return whenReady(spawnAgent(configPath, env, args));
}

/** The real `treadle dev --json` over a folder. */
export async function startDev(folder: string, env: Record<string, string>): Promise<RunningAgent> {
  return whenReady(spawnServer("treadle dev", ["dev", folder, "--json", "--port", "0"], env));
}

async function whenReady(child: ChildProcess): Promise<RunningAgent> {
  const line = await child.waitForLine(/^\{"url"/, 60_000);
  return { process: child, ready: JSON.parse(line) as AgentReady };
}

export function spawnAgent(
  configPath: string,
  env: Record<string, string>,
  args: string[] = [],
): ChildProcess {
  const words = ["agent", "--json", "--port", "0", "--config", configPath, ...args];
  return spawnServer("treadle agent", words, env);
}

function spawnServer(name: string, words: string[], env: Record<string, string>): ChildProcess {
  return spawnProcess(process.execPath, [treadleBin, ...words], {
    name,
    env: {
      TREADLE_LOG_LEVEL: "warn",
      TREADLE_VALIDATE_RESPONSES: "1",
      BG_JOB_SHUTDOWN_GRACE_PERIOD_SECS: "5",
      ...env,
    },
  });
}
