import type { Logger } from "../../../platform/logger.ts";
import type { PythonProcess } from "./python-process.ts";

export type WorkerWatchdogOptions = {
  process: Pick<PythonProcess, "channel" | "control" | "kill" | "pid">;
  logger: Logger;
  /** How long the event loop, or the whole process, may be blocked; 0: for ever. */
  limitMs: number;
  everyMs?: number;
};

const defaultEveryMs = 2_000;

/** Pings a process while calls are in progress, and ends one that is blocked. While idle it sends nothing. */
export class WorkerWatchdog {
  readonly #options: WorkerWatchdogOptions;
  #timer: NodeJS.Timeout | undefined;
  #askedAt: number | undefined;

  constructor(options: WorkerWatchdogOptions) {
    this.#options = options;
  }

  /** A call has begun. */
  watch(): void {
    if (this.#timer || this.#options.limitMs === 0) return;
    this.#timer = setTimeout(() => this.#look(), this.#options.everyMs ?? defaultEveryMs);
    this.#timer.unref();
  }

  #look(): void {
    const { process, limitMs } = this.#options;
    this.#timer = undefined;
    if (process.channel.underWay === 0) return;
    if (this.#askedAt === undefined) void this.#ask();
    else if (performance.now() - this.#askedAt > limitMs) {
      process.kill(
        `It did not answer for ${seconds(limitMs)}: native code held the interpreter. A node must not compute for long without releasing it.`,
      );
      return;
    }
    this.watch();
  }

  async #ask(): Promise<void> {
    const { process, limitMs, logger } = this.#options;
    this.#askedAt = performance.now();
    const { loopMs } = await process.control.ping();
    this.#askedAt = undefined;
    if (loopMs <= limitMs) return;
    const stack = await process.control.dump();
    logger.error({ pid: process.pid, stack }, "the event loop of a Python process is blocked");
    process.kill(
      `Its event loop was blocked for ${seconds(loopMs)}. An async node must not compute or block for long.\n${stack}`,
    );
  }
}

function seconds(ms: number): string {
  return `${Math.round(ms / 1000)} s`;
}
