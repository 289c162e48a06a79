import { Worker } from "node:worker_threads";
import { tellRunAtWork } from "./run-at-work.ts";

export type WatchdogOptions = {
  /** How long the event loop may be blocked. */
  timeoutMs: number;
  /** What the process ends with. */
  exitCode: number;
  /** Where the runs of this process are given back before it ends: which one blocked it is known only then. */
  record?: { databaseUrl: string; processId: string };
};

/** What the thread is given: a counter that rises as long as the event loop turns, and how often it does so. */
export type WatchdogThreadData = WatchdogOptions & { beats: SharedArrayBuffer; beatMs: number };

/**
 * Ends this process when its event loop is blocked. A graph that computes without pause cannot be cancelled
 * from within: no timer fires, no heartbeat is sent, and every other run of the process waits with it. A new
 * process continues from the last checkpoints.
 */
export class Watchdog {
  readonly #timer: NodeJS.Timeout;
  readonly #thread: Worker;

  /** Watches from now on. */
  constructor(options: WatchdogOptions) {
    tellRunAtWork();
    const beats = new SharedArrayBuffer(4);
    const counter = new Int32Array(beats);
    const beatMs = options.timeoutMs / 10;
    this.#timer = setInterval(() => Atomics.add(counter, 0, 1), beatMs);
    this.#timer.unref();
    // Built code has no types to strip and another extension.
    const extension = import.meta.url.endsWith(".ts") ? "ts" : "js";
    this.#thread = new Worker(new URL(`./watchdog-thread.${extension}`, import.meta.url), {
      workerData: { beats, beatMs, ...options } satisfies WatchdogThreadData,
      // Loaders of the project's own code have no business in it.
      execArgv: [],
    });
    this.#thread.unref();
  }

  async stop(): Promise<void> {
    clearInterval(this.#timer);
    await this.#thread.terminate();
  }
}
