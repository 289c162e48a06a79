import type { App } from "../app.ts";
import { type Config, environmentWith, readConfig } from "../config.ts";
import { prepareDataFolder, removeRuntimeFile, writeRuntimeFile } from "../platform/data-folder.ts";
import { lockDataFolder } from "../platform/data-folder-lock.ts";
import { createLogger } from "../platform/logger.ts";
import { formatBanner } from "./banner.ts";
import { watchCrash } from "./crash.ts";
import { checkAddress, explainListenError } from "./listen-probe.ts";
import { createLogLines } from "./log-lines.ts";
import { announceWait, createOutput, type Output } from "./output.ts";
import { readVersion } from "./program.ts";
import { type StopReason, watchStopSignals } from "./stop-signals.ts";
import type { UpOptions } from "./up.ts";

/** Runs until it is asked to stop; the result is the exit code. */
export async function runUp(options: UpOptions): Promise<number> {
  const output = createOutput(options);
  const config = readConfig(
    environmentWith({
      TREADLE_PORT: options.port,
      TREADLE_HOST: options.host,
      TREADLE_DATA_DIR: options.dataDir,
    }),
  );
  const readable = process.stderr.isTTY === true && !output.json;
  const logger = createLogger({
    level: config.logLevel,
    ...(readable ? { destination: createLogLines(process.stderr, output.paint) } : {}),
  });
  const stopSignal = watchStopSignals((reason) => {
    output.note(`Stopped at once by a second ${reason.name}.`);
    process.exit(reason.exitCode);
  });
  const { created } = await prepareDataFolder(config.dataDir);
  const lock = await lockDataFolder(config.dataDir);
  try {
    await checkAddress(config.host, config.port);
    // Loaded only now: what is wrong with the settings, folder or port is told without that second.
    const { createApp } = await import("../app.ts");
    const app = await createApp(config, { logger });
    const crash = watchCrash(logger);
    try {
      await start(app, config, output, created);
      const reason = await Promise.race([stopSignal, crash]);
      const clean = await stop(app, config, output, reason);
      return clean ? 0 : reason.exitCode;
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
      pid: process.pid,
    });
    for (const line of formatBanner({ ...started, version: readVersion() }, output.paint)) output.line(line);
  } catch (error) {
    // What the start had already opened must not outlive it; the start's own error is the one to tell.
    await app.stop().catch((stopError: unknown) => {
      output.note(`The failed start could not be undone completely: ${String(stopError)}`);
    });
    throw explainListenError(error, config.host, config.port);
  } finally {
    done();
  }
}

async function stop(app: App, config: Config, output: Output, reason: StopReason): Promise<boolean> {
  const seconds = config.shutdownGraceMs / 1000;
  if (!output.json) output.note(`Stopping after ${reason.name}…`);
  const done = announceWait(
    output,
    `Waiting up to ${seconds} s for what is in progress; Ctrl-C again ends it now.`,
  );
  try {
    const { interrupted } = await app.stop();
    output.data({ stopped: true, interrupted });
    if (interrupted.length > 0) {
      output.line(`Interrupted after ${seconds} s; each continues or is retried on the next start:`);
      for (const what of interrupted) output.line(`  ${what}`);
    }
    output.line("Stopped.");
    return reason.clean;
  } finally {
    done();
  }
}
