import type { WorkerApp } from "../../../app/worker-app.ts";
import { workerConfigOf } from "../../../app/worker-config.ts";
import { applyEnvironment, forgetSecrets, readConfig } from "../../../config/index.ts";
import type { Logger } from "../../../platform/logger.ts";
import { watchCrash } from "../../server/crash.ts";
import { outliveReader } from "../../server/lost-reader.ts";
import { createServerLogger } from "../../server/server-life.ts";
import { collectStartGarbage } from "../../server/start-garbage.ts";
import { type StopReason, watchStopSignals } from "../../server/stop-signals.ts";
import { createOutput } from "../../terminal/output.ts";
import { ServerChannel } from "./server-channel.ts";

/** What is left to do without a server may take so long. */
const aloneMs = 10_000;

/** Works until its server asks it to stop, or is gone; the result is the exit code. */
export async function runWorker(): Promise<number> {
  // A supervisor may signal every process of a service, and the server then this one once more: that is no second wish.
  const stopSignal = watchStopSignals(() => undefined);
  const channel = new ServerChannel();
  channel.onClose(() => setTimeout(() => process.exit(1), aloneMs).unref());
  const settings = await unlessStopped(channel.settings, stopSignal);
  if (settings === null) return 0;
  applyEnvironment(settings.environment);
  const config = readConfig();
  forgetSecrets();
  outliveReader();
  const logger = createServerLogger(config.logLevel, createOutput(settings.output)).child({
    worker: settings.number,
  });
  const crash = watchCrash(logger);
  // While the server gets ready.
  const { WorkerApp } = await import("../../../app/worker-app.ts");
  const place = await unlessStopped(channel.place, stopSignal);
  if (place === null) return 0;
  const app = new WorkerApp({ config: workerConfigOf(config, place), publicUrl: place.publicUrl, logger });
  // One that waits for its database is not waited for.
  const started = await unlessStopped(start(app, logger), stopSignal);
  if (started === false) return 1;
  channel.answerMetrics(() => app.figures());
  if (started) await channel.send({ kind: "ready", processId: app.processId });
  collectStartGarbage();
  const reason = await Promise.race([stopSignal, crash]);
  // Runs of a server that is gone are for the next one, at once.
  const graceMs = channel.isOpen ? config.shutdownGraceMs : 0;
  const { interrupted } = await app.stop({ graceMs });
  await channel.send({ kind: "stopped", interrupted });
  return reason.clean ? 0 : reason.exitCode;
}

async function unlessStopped<T>(work: Promise<T>, stop: Promise<StopReason>): Promise<T | null> {
  return Promise.race([work, stop.then(() => null)]);
}

/** False if it failed; what it had opened is closed then. */
async function start(app: WorkerApp, logger: Logger): Promise<boolean> {
  try {
    await app.start();
    return true;
  } catch (error) {
    logger.error({ err: error }, "a worker process could not start");
    await app.stop({ graceMs: 0 }).catch(() => undefined);
    return false;
  }
}
