import { readFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { Client } from "@langchain/langgraph-sdk";
import { type RunningAgent, startAgent } from "../support/agent-command.ts";
import type { TestDatabase } from "../support/database.ts";

export const project = fileURLToPath(new URL("./project/langgraph.json", import.meta.url));
export const guarded = fileURLToPath(new URL("./guarded/langgraph.json", import.meta.url));

export type PythonAgent = RunningAgent & { client: Client };

/** The real `treadle agent` over a project with Python graphs, run by the Python of the tests. */
export async function startPythonAgent(
  database: Pick<TestDatabase, "url">,
  env: Record<string, string> = {},
  config = project,
): Promise<PythonAgent> {
  const agent = await startAgent(config, {
    TREADLE_PYTHON: process.env.TREADLE_TEST_PYTHON!,
    DATABASE_URL: database.url,
    ...env,
  });
  return { ...agent, client: clientOf(agent.ready.url) };
}

export function clientOf(apiUrl: string, defaultHeaders: Record<string, string> = {}): Client {
  return new Client({ apiUrl, apiKey: null, defaultHeaders, callerOptions: { maxRetries: 0 } });
}

export const said = (content: string) => ({ messages: [{ role: "user", content }] });

/** The Python processes of an agent. */
export async function workersOf(agent: RunningAgent): Promise<number[]> {
  const children = await readFile(`/proc/${agent.ready.pid}/task/${agent.ready.pid}/children`, "utf8");
  const pids = children.trim().split(/\s+/).filter(Boolean).map(Number);
  const commands = await Promise.all(
    pids.map((pid) => readFile(`/proc/${pid}/cmdline`, "utf8").catch(() => "")),
  );
  return pids.filter((_, index) => commands[index]!.includes("treadle_python"));
}
