import type { AgentConfig } from "../../config/index.ts";
import { startEmbeddedPostgres } from "../../platform/db/embedded/embedded-postgres.ts";
import { urlHost } from "../../platform/http/server/url-host.ts";
import type { Logger } from "../../platform/logger.ts";
import { printFailure } from "../failure.ts";
import { explainListenError } from "../server/listen-probe.ts";
import { outliveReader } from "../server/lost-reader.ts";
import { createServerLogger, stopServer, watchStop } from "../server/server-life.ts";
import { createOutput } from "../terminal/output.ts";
import { lockAgentFolder } from "./agent-data-folder.ts";
import { agentSettings } from "./agent-settings.ts";
import { FrontDoor } from "./front-door.ts";
import type { AgentOptions } from "./options.ts";
import { Reloading } from "./reloading.ts";
import { whatNext } from "./what-next.ts";

/**
 * Serves a project and follows its files: after each change it is loaded again in a new process, which takes over once
 * it has loaded. The database and people's connections stay with this process.
 */
export async function runReloading(options: AgentOptions): Promise<number> {
  const output = createOutput(options);
  const config = agentSettings(options);
  const logger = createServerLogger(config.logLevel, output);
  outliveReader();
  const stopSignal = watchStop(output);
  const lock = await lockAgentFolder(config);
  const door = new FrontDoor();
  try {
    const port = await openDoor(door, config);
    return await withDatabase(config, logger, async (database) => {
      const url = config.publicUrl ?? `http://${urlHost(config.host)}:${port}`;
      const reloading = new Reloading(config, { door, url, port, database, opens: options.open }, output);
      const reason = await Promise.race([stopSignal, reloading.run()]);
      if ("message" in reason) {
        printFailure(reason, output);
        await reloading.stop();
        return reason.exitCode;
      }
      return stopServer(reloading, reason, { graceMs: config.shutdownGraceMs, output, whatNext });
    });
  } finally {
    await door.close();
    await lock?.release();
  }
}

async function openDoor(door: FrontDoor, { host, port }: AgentConfig): Promise<number> {
  try {
    return await door.open({ host, port });
  } catch (error) {
    throw explainListenError(error, host, port);
  }
}

type FoundDatabase = { url: string; notes: string[]; kind: "embedded" | "external" };

async function withDatabase<Result>(
  { databaseUrl, dataDir }: AgentConfig,
  logger: Logger,
  work: (database: FoundDatabase) => Promise<Result>,
): Promise<Result> {
  if (databaseUrl !== undefined) return work({ url: databaseUrl, notes: [], kind: "external" });
  const postgres = await startEmbeddedPostgres({ dataDir, logger });
  try {
    return await work({ ...postgres, kind: "embedded" });
  } finally {
    await postgres.stop();
  }
}
