import { createAgentApp, type FailedReload } from "../../app/agent.ts";
import { describeFailure } from "../failure.ts";
import { watchCrash } from "../server/crash.ts";
import { outliveReader } from "../server/lost-reader.ts";
import { createServerLogger, undoStart } from "../server/server-life.ts";
import { collectStartGarbage } from "../server/start-garbage.ts";
import { createOutput } from "../terminal/output.ts";
import { agentSettings, watchdogOf } from "./agent-settings.ts";
import type { FromGeneration, ToGeneration } from "./generation-messages.ts";
import type { AgentOptions } from "./options.ts";

/** One generation of a project that is watched, in a process of its own. The result is the exit code. */
export async function runGeneration(options: AgentOptions): Promise<number> {
  const output = createOutput(options);
  const settings = agentSettings(options);
  const logger = createServerLogger(settings.logLevel, output);
  outliveReader();
  // Ctrl-C reaches every process of the terminal; the one that watches decides what it means.
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.on(signal, () => undefined);
  process.once("disconnect", () => process.exit(1));
  const crash = watchCrash(logger);
  const begin = received("begin");
  const stop = received("stop");
  await send({ kind: "hello" });
  const { databaseUrl, publicUrl, mustServe, studioSecret } = await begin;
  // Clients connect to the process that watches, which listens at the announced address.
  const config = { ...settings, databaseUrl, publicUrl, host: "127.0.0.1", port: 0 };
  let failedReload: FailedReload | null = null;
  process.on("message", (message: ToGeneration) => {
    if (message.kind === "outdated") failedReload = message.failure;
  });
  const app = createAgentApp(config, {
    ...{ logger, mustServe, studioSecret, watchdog: watchdogOf(config) },
    failedReload: () => failedReload,
    onLoaded: () => void send({ kind: "loaded" }),
  });
  try {
    await send({ kind: "ready", started: await app.start() });
    collectStartGarbage();
  } catch (error) {
    const failure = describeFailure(await undoStart(app, error, config, output));
    await send({ kind: "failed", failure });
    return failure.exitCode;
  }
  const reason = await Promise.race([stop, crash]);
  const { interrupted } = await app.stop();
  await send({ kind: "stopped", interrupted });
  return "kind" in reason ? 0 : reason.exitCode;
}

function received<Kind extends ToGeneration["kind"]>(
  kind: Kind,
): Promise<Extract<ToGeneration, { kind: Kind }>> {
  return new Promise((resolve) => {
    process.on("message", (message: ToGeneration) => {
      if (message.kind === kind) resolve(message as Extract<ToGeneration, { kind: Kind }>);
    });
  });
}

/** Resolves also when the parent process is gone: this process then exits. */
function send(message: FromGeneration): Promise<void> {
  return new Promise((resolve) => {
    if (!process.connected) resolve();
    else process.send!(message, () => resolve());
  });
}
