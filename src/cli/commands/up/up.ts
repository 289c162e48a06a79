import type { App } from "../../../app/platform.ts";
import { type Config, environmentWith, forgetSecrets, readConfig } from "../../../config/index.ts";
import {
  prepareDataFolder,
  removeRuntimeFile,
  writeRuntimeFile,
} from "../../../platform/data-folder/data-folder.ts";
import { lockDataFolder } from "../../../platform/data-folder/data-folder-lock.ts";
import { readVersion } from "../../program.ts";
import { watchCrash } from "../../server/crash.ts";
import { checkAddress } from "../../server/listen-probe.ts";
import { outliveReader } from "../../server/lost-reader.ts";
import { createServerLogger, stopServer, undoStart, watchStop } from "../../server/server-life.ts";
import { announceWait, createOutput, type Output } from "../../terminal/output.ts";
import { formatBanner } from "./banner.ts";
import type { UpOptions } from "./options.ts";

const whatNext = "each continues or is retried on the next start";

/** Runs until it is asked to stop; the result is the exit code. */
export async function runUp(options: UpOptions): Promise<number> {
  const output = createOutput(options);
  const config = readConfig(
    environmentWith({
      TREADLE_PORT: options.port,
      TREADLE_HOST: options.host,
      TREADLE_DATA_DIR: options.dataDir,
      TREADLE_LOG_LEVEL: options.verbose ? "debug" : undefined,
    }),
  );
  forgetSecrets();
  const logger = createServerLogger(config.logLevel, output);
  outliveReader();
  const stopSignal = watchStop(output);
  const { created } = await prepareDataFolder(config.dataDir);
  const lock = await lockDataFolder(config.dataDir);
  try {
    await checkAddress(config.host, config.port);
    // Loaded only now: faults of the settings, folder or port are reported without that second.
    const { createApp } = await import("../../../app/platform.ts");
    const app = await createApp(config, { logger });
    const crash = watchCrash(logger);
    try {
      await start(app, config, output, created);
      const reason = await Promise.race([stopSignal, crash]);
      return await stopServer(app, reason, { graceMs: config.shutdownGraceMs, output, whatNext });
    } finally {
      await removeRuntimeFile(config.dataDir);
    }
  } finally {
    await lock.release();
  }
}

async function start(app: App, config: Config, output: Output, firstStart: boolean): Promise<void> {
  const embedded = config.databaseUrl === undefined;
  const announced = firstStart && embedded ? "Preparing the database…" : "Starting…";
  if (firstStart && !output.json) output.note(announced);
  const done = firstStart ? () => {} : announceWait(output, announced);
  try {
    const started = await app.start();
    await writeRuntimeFile(config.dataDir, {
      pid: process.pid,
      url: started.url,
      port: started.port,
      databaseUrl: started.databaseUrl,
    });
    output.data({
      url: started.url,
      port: started.port,
      workspace_id: started.workspaceId,
      api_key: started.apiKey,
      data_dir: started.dataDir,
      database: started.database,
      notes: started.notes,
      isolation: started.isolation.kind,
      pid: process.pid,
    });
    // A link that signs in is for eyes, never for a log that others read.
    const offersLink = output.watched && !config.signIn.oidc?.required;
    const signInLink = offersLink ? await started.signInLink() : undefined;
    for (const line of formatBanner({ ...started, signInLink, version: readVersion() }, output.paint))
      output.line(line);
  } catch (error) {
    throw await undoStart(app, error, config, output);
  } finally {
    done();
  }
}
