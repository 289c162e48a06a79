import { randomBytes } from "node:crypto";
import { rename, writeFile } from "node:fs/promises";
import type { StartedAgent } from "../../app/agent.ts";
import { type AgentConfig, currentEnvironment } from "../../config/index.ts";
import { studioLink } from "../../console/studio-code.ts";
import { readVersion } from "../program.ts";
import { openBrowser } from "../terminal/browser.ts";
import type { Output } from "../terminal/output.ts";
import { formatAgentBanner } from "./banner.ts";

export type AnnouncedAgent = {
  started: StartedAgent;
  config: AgentConfig;
  database: "embedded" | "external";
  /** Set where its files are watched. */
  watched?: { folder: string };
  studioSecret: string;
  /** Whether the studio is opened in a browser: on a terminal, unless one said no. */
  opens: boolean;
};

/** Valid as long as the command runs; only this command knows it. */
export function newStudioSecret(): string {
  return randomBytes(32).toString("base64url");
}

/**
 * Announces an agent server when it serves for the first time or at another address. What comes with the server, such
 * as a page that is opened in a browser, starts here, for every command.
 */
export async function announceAgent(agent: AnnouncedAgent, output: Output): Promise<void> {
  const { started, config, database, watched } = agent;
  const { url, port, graphs, broken, notes } = started;
  const studio = started.hasStudio ? studioLink(url, agent.studioSecret, Date.now()) : undefined;
  const ready = { url, port, graphs, broken, database, notes, studio, pid: process.pid };
  if (config.readyFile === undefined) output.data(ready);
  else await writeReadyFile(config.readyFile, ready);
  const facts = { ...started, version: readVersion(), config, database, watched, studio };
  for (const line of formatAgentBanner(facts, output.paint)) output.line(line);
  if (studio && agent.opens && output.watched && (await openBrowser(studio, currentEnvironment()))) {
    output.note("The studio was opened in the browser.");
  }
}

/** Renamed into place: who waits for it sees the whole of it or nothing. */
async function writeReadyFile(path: string, facts: object): Promise<void> {
  await writeFile(`${path}.new`, JSON.stringify(facts), { mode: 0o600 });
  await rename(`${path}.new`, path);
}
