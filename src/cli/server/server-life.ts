import { createLogger, type Logger } from "../../platform/logger.ts";
import { createLogLines } from "../terminal/log-lines.ts";
import { announceWait, type Output } from "../terminal/output.ts";
import { explainListenError } from "./listen-probe.ts";
import { type StopReason, watchStopSignals } from "./stop-signals.ts";

/** What `treadle up` and `treadle agent` run. */
export type ServerApp = { stop(options?: { takesLeave?: boolean }): Promise<{ interrupted: string[] }> };

/** Lines for people on a terminal, JSON for everything else. */
export function createServerLogger(level: string, output: Output): Logger {
  const readable = process.stderr.isTTY === true && !output.json;
  return createLogger({
    level,
    ...(readable ? { destination: createLogLines(process.stderr, output.paint) } : {}),
  });
}

/** The first signal is the result; a second one ends the process where it stands. */
export function watchStop(output: Output): Promise<StopReason> {
  return watchStopSignals((reason) => {
    output.note(`Stopped at once by a second ${reason.name}.`);
    process.exit(reason.exitCode);
  });
}

/** What a failed start had already opened must not outlive it; the start's own error is the one to report. */
export async function undoStart(
  app: ServerApp,
  error: unknown,
  place: { host: string; port: number },
  output: Output,
): Promise<unknown> {
  await app.stop().catch((stopError: unknown) => {
    output.note(`The failed start could not be undone completely: ${String(stopError)}`);
  });
  return explainListenError(error, place.host, place.port);
}

/** Stops in order and names what did not finish in time; the result is the exit code. */
export async function stopServer(
  app: ServerApp,
  reason: StopReason,
  options: { graceMs: number; output: Output; whatNext: string },
): Promise<number> {
  const { output, whatNext } = options;
  const seconds = options.graceMs / 1000;
  if (!output.json) output.note(`Stopping after ${reason.name}…`);
  const done = announceWait(
    output,
    `Waiting up to ${seconds} s for work in progress; press Ctrl-C again to end now.`,
  );
  try {
    // With Ctrl-C there is no load balancer that must first notice the shutdown.
    const { interrupted } = await app.stop({ takesLeave: reason.name === "SIGTERM" });
    output.data({ stopped: true, interrupted });
    if (interrupted.length > 0) {
      output.line(`Interrupted after ${seconds} s; ${whatNext}:`);
      for (const what of interrupted) output.line(`  ${what}`);
    }
    output.line("Stopped.");
    return reason.clean ? 0 : reason.exitCode;
  } finally {
    done();
  }
}
