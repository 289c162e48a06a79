import { type ChildProcess, spawn } from "node:child_process";
import { startEnvironment } from "../config/index.ts";
import type { Stopped } from "../platform/areas/area.ts";
import { arenasBeside } from "../platform/arenas.ts";
import type { Logger } from "../platform/logger.ts";
import type { MetricFigures } from "../platform/metrics.ts";
import { programFile } from "../platform/package-facts.ts";
import { within } from "../platform/within.ts";
import type { WorkerPlace } from "./worker-config.ts";
import type { FromWorker, ToWorker } from "./worker-messages.ts";

export type WorkerSettings = Pick<Extract<ToWorker, { kind: "settings" }>, "environment" | "output">;

/** Called when one that leased runs under this id is gone, and gave none of them back. */
export type OnWorkerLost = (processId: string) => void;

const longestPauseMs = 30_000;
/** One that worked for so long and ends begins with the shortest pause again. */
const provenMs = 60_000;
/** What comes after the grace takes seconds. */
const lastMs = 15_000;
const metricsMs = 1_000;

/**
 * One worker process. It is started again when it ends by itself, and ends by itself when this process does: the pipe
 * between them closes then, however this one ended.
 */
export class WorkerProcess {
  readonly #number: number;
  readonly #settings: WorkerSettings;
  readonly #logger: Logger;
  readonly #firstTry = Promise.withResolvers<void>();
  readonly #asked = new Map<number, (figures: MetricFigures | null) => void>();
  #child: ChildProcess | undefined;
  #ended: Promise<void> = Promise.resolve();
  #place: WorkerPlace | undefined;
  #onLost: OnWorkerLost | undefined;
  #processId: string | undefined;
  #readyAt: number | undefined;
  #failures = 0;
  #restarts = 0;
  #asks = 0;
  #pause: NodeJS.Timeout | undefined;
  #isStopping = false;
  #interrupted: string[] = [];

  constructor(number: number, settings: WorkerSettings, logger: Logger) {
    this.#number = number;
    this.#settings = settings;
    this.#logger = logger;
  }

  get number(): number {
    return this.#number;
  }

  get isReady(): boolean {
    return this.#readyAt !== undefined;
  }

  /** How often it was started again. */
  get restarts(): number {
    return this.#restarts;
  }

  /** It is ready, or its first start has failed. */
  get firstTry(): Promise<void> {
    return this.#firstTry.promise;
  }

  /** It loads its code, and works from `begin` on. */
  launch(): void {
    const environment = startEnvironment();
    const child = spawn(process.execPath, [...nodeArguments(), programFile, "worker"], {
      env: { ...arenasBeside(environment), ...environment },
      // The one log. What a library prints belongs there, too: standard output is for programs.
      stdio: ["ignore", 2, 2, "ipc"],
      serialization: "advanced",
      // Its own session: Ctrl-C in the terminal reaches this process alone, which stops things in order.
      detached: true,
    });
    this.#child = child;
    this.#ended = new Promise((resolve) => {
      const end = (how: Record<string, unknown>) => {
        if (this.#child !== child) return;
        this.#onEnd(how);
        resolve();
      };
      child.once("exit", (code, signal) => end({ code, signal }));
      // It could not be started, or a message did not reach it.
      child.on("error", (error) => {
        if (child.pid === undefined) end({ reason: error.message });
      });
    });
    child.on("message", (message) => this.#onMessage(message as FromWorker));
    this.#send({ kind: "settings", number: this.#number, ...this.#settings });
    if (this.#place) this.#send({ kind: "begin", place: this.#place });
  }

  begin(place: WorkerPlace, onLost: OnWorkerLost): void {
    this.#place = place;
    this.#onLost = onLost;
    this.#send({ kind: "begin", place });
  }

  /** Null where it does not answer in time. */
  async readMetrics(): Promise<MetricFigures | null> {
    if (!this.isReady) return null;
    this.#asks += 1;
    const id = this.#asks;
    const { promise, resolve } = Promise.withResolvers<MetricFigures | null>();
    this.#asked.set(id, resolve);
    const timer = setTimeout(() => this.#answer(id, null), metricsMs);
    this.#send({ kind: "metrics", id });
    try {
      return await promise;
    } finally {
      clearTimeout(timer);
    }
  }

  /** Lets it finish its work within the grace. */
  async stop({ graceMs }: { graceMs: number }): Promise<Stopped> {
    this.#isStopping = true;
    clearTimeout(this.#pause);
    const child = this.#child;
    if (child) {
      child.kill("SIGTERM");
      await within(graceMs + lastMs, this.#ended);
    }
    if (this.#child) {
      this.#interrupted.push(`worker process ${this.#number}, which did not end in time`);
      this.#child.kill("SIGKILL");
      await this.#ended;
    }
    return { interrupted: this.#interrupted };
  }

  #send(message: ToWorker): void {
    const child = this.#child;
    // One that has just ended is started again and told then.
    if (child?.connected) child.send(message, () => undefined);
  }

  #onMessage(message: FromWorker): void {
    if (message.kind === "metrics") this.#answer(message.id, message.figures);
    else if (message.kind === "stopped") this.#interrupted.push(...message.interrupted);
    else {
      this.#readyAt = performance.now();
      this.#processId = message.processId;
      this.#firstTry.resolve();
      const facts = { worker: this.#number, pid: this.#child?.pid };
      this.#logger.info(facts, "a worker process is ready");
    }
  }

  #answer(id: number, figures: MetricFigures | null): void {
    this.#asked.get(id)?.(figures);
    this.#asked.delete(id);
  }

  #onEnd(how: Record<string, unknown>): void {
    const workedMs = this.#readyAt === undefined ? 0 : performance.now() - this.#readyAt;
    const processId = this.#processId;
    this.#child = undefined;
    this.#readyAt = undefined;
    this.#processId = undefined;
    for (const id of this.#asked.keys()) this.#answer(id, null);
    this.#firstTry.resolve();
    if (this.#isStopping) return;
    if (workedMs >= provenMs) this.#failures = 0;
    const pauseMs = Math.min(longestPauseMs, 1_000 * 2 ** this.#failures);
    this.#failures += 1;
    this.#logger.error(
      { worker: this.#number, ...how, pauseMs },
      "a worker process ended by itself; it is started again after a pause",
    );
    if (processId !== undefined) this.#onLost?.(processId);
    this.#interrupted = [];
    this.#pause = setTimeout(() => {
      this.#restarts += 1;
      this.launch();
    }, pauseMs);
  }
}

/** Those of this process, but for a debugger's port, which one process alone can have. */
function nodeArguments(): string[] {
  return process.execArgv.filter((argument) => !/^--inspect|^--debug/.test(argument));
}
