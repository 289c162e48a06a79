import type { App, Started } from "../../app/platform.ts";
import type { WorkerProcesses } from "../../app/worker-processes.ts";
import { type Config, forgetSecrets } from "../../config/index.ts";
import type { ListenerPlace } from "../../control-plane/mirror/listener-place.ts";
import {
  prepareDataFolder,
  removeRuntimeFile,
  writeRuntimeFile,
} from "../../platform/data-folder/data-folder.ts";
import { lockDataFolder } from "../../platform/data-folder/data-folder-lock.ts";
import type { Logger } from "../../platform/logger.ts";
import { announceWait, type Output } from "../terminal/output.ts";
import { watchCrash } from "./crash.ts";
import { checkAddress } from "./listen-probe.ts";
import { outliveReader } from "./lost-reader.ts";
import { createServerLogger, stopServer, undoStart, watchStop } from "./server-life.ts";
import { collectStartGarbage } from "./start-garbage.ts";

const whatNext = "each continues or is retried on the next start";

export type PlatformRun = {
  config: Config;
  output: Output;
  /** Where it is the process of a listener. Asked for once the data folder is this process's own. */
  listener?: (config: Config) => Promise<{ config: Config; place: ListenerPlace }>;
  /** Processes that it starts beside itself. */
  workers?: ((logger: Logger) => WorkerProcesses) | undefined;
  /** What people see when it is ready. */
  banner(started: Started): Promise<string[]>;
};

/** Runs until it is asked to stop; the result is the exit code. */
export async function runPlatform(run: PlatformRun): Promise<number> {
  const { config: given, output } = run;
  forgetSecrets();
  const logger = createServerLogger(given.logLevel, output);
  outliveReader();
  const stopSignal = watchStop(output);
  const { created } = await prepareDataFolder(given.dataDir);
  const lock = await lockDataFolder(given.dataDir);
  try {
    await checkAddress(given.host, given.port);
    const listener = await run.listener?.(given);
    const config = listener?.config ?? given;
    // Loaded only now: faults of the settings, folder or port are reported without that second.
    const { createApp } = await import("../../app/platform.ts");
    const app = await createApp(config, {
      ...{ logger, workers: run.workers?.(logger) },
      ...(listener && { listener: listener.place }),
    });
    const crash = watchCrash(logger);
    try {
      await start(app, config, run, created);
      collectStartGarbage();
      const reason = await Promise.race([stopSignal, crash]);
      return await stopServer(app, reason, { graceMs: config.shutdownGraceMs, output, whatNext });
    } finally {
      await removeRuntimeFile(config.dataDir);
    }
  } finally {
    await lock.release();
  }
}

async function start(app: App, config: Config, run: PlatformRun, firstStart: boolean): Promise<void> {
  const { output } = run;
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
      isolation: started.isolation?.kind ?? null,
      roles: started.roles,
      worker_processes: started.workerProcesses,
      pid: process.pid,
    });
    for (const line of await run.banner(started)) output.line(line);
  } catch (error) {
    throw await undoStart(app, error, config, output);
  } finally {
    done();
  }
}
