import { fileURLToPath } from "node:url";
import { Client } from "@langchain/langgraph-sdk";
import { type ChildProcess, spawnProcess } from "./components/process.ts";

const childScript = fileURLToPath(new URL("./agent-server-child.ts", import.meta.url));

export type OutageServer = { process: ChildProcess; client: Client; url: string };

/** A server in a process of its own, so that what would end a process is seen to do so. */
export async function spawnOutageServer(options: {
  url: string;
  leaseMs: number;
  graph?: string;
  graceMs?: number;
  env?: Record<string, string>;
}): Promise<OutageServer> {
  const { url, leaseMs, graph = "wide", graceMs = 0, env } = options;
  const child = spawnProcess(process.execPath, [childScript, url, String(leaseMs), graph, String(graceMs)], {
    name: "agent server",
    ...(env ? { env } : {}),
  });
  const line = await child.waitForLine(/^ready (\S+)/m, 60_000);
  const served = /ready (\S+)/.exec(line)![1]!;
  return { process: child, url: served, client: new Client({ apiUrl: served }) };
}
