import { AppError, errorMessage } from "../../../platform/errors.ts";
import type { Logger } from "../../../platform/logger.ts";
import { WorkerLost } from "../worker-lost.ts";
import { FreeProcessors } from "./free-processors.ts";
import type { LoadReport } from "./load-report.ts";
import type { PythonWorker } from "./python-worker.ts";
import { Quarantine } from "./quarantine.ts";
import { SpareWorker } from "./spare-worker.ts";

export type PythonPoolOptions = {
  logger: Logger;
  /** How many processes run graphs. */
  workers: number;
  /** Starts a process, which is to load the project. */
  start(): PythonWorker;
  /** Whether a spare process that has imported the libraries is kept while runs are active. */
  spare: boolean;
};

type Waiter = { resolve(): void; reject(error: unknown): void };

const firstPauseMs = 100;
const maxPauseMs = 10_000;
/** One that lived as long may be followed by another at once. */
const steadyMs = 30_000;
/** Longer than its traces may take to be sent. */
const drainMs = 6_000;

/** The processes that run graphs: gives out the least busy, and follows one that ended with another. */
export class PythonPool {
  readonly #options: PythonPoolOptions;
  readonly #workers = new Set<PythonWorker>();
  readonly #quarantine = new Quarantine((runId) => this.#unreserve(runId));
  readonly #retiring = new Set<PythonWorker>();
  readonly #spare: SpareWorker<PythonWorker> | undefined;
  #starting = 0;
  #failures = 0;
  #waiting: Waiter[] = [];
  #timer: NodeJS.Timeout | undefined;
  #isStopped = false;

  constructor(options: PythonPoolOptions) {
    this.#options = options;
    if (options.spare) this.#spare = this.#createSpare();
  }

  /** Resolves when the first has loaded the project; the others follow. */
  async start(): Promise<LoadReport> {
    const { worker, report } = await this.#load(this.#options.start());
    this.#add(worker);
    for (let more = 1; more < this.#options.workers; more += 1) void this.#spawn();
    return report;
  }

  get pids(): (number | undefined)[] {
    return [...this.#workers].map(({ pid }) => pid);
  }

  /** The least busy; waits while there is none. */
  async any(): Promise<PythonWorker> {
    for (;;) {
      const free = [...this.#workers].filter((worker) => worker.reservedFor === undefined);
      if (free.length > 0) return free.reduce((least, worker) => (worker.busy < least.busy ? worker : least));
      await this.#more();
    }
  }

  /** For a run: one of its own when it was in a process that ended. Give it back with `release`. */
  async forRun(runId: string, signal: AbortSignal): Promise<PythonWorker> {
    this.#spare?.want();
    if (!this.#quarantine.holds(runId)) {
      const worker = await this.any();
      worker.runs.add(runId);
      return worker;
    }
    await this.#quarantine.turn(runId, signal);
    try {
      const worker = await this.#alone(runId);
      this.#quarantine.begin(runId);
      return worker;
    } catch (error) {
      this.#quarantine.giveUp(runId);
      throw error;
    }
  }

  async #alone(runId: string): Promise<PythonWorker> {
    for (;;) {
      const idle = [...this.#workers].find(({ runs, reservedFor }) => runs.size === 0 && !reservedFor);
      if (idle) {
        idle.reservedFor = runId;
        idle.runs.add(runId);
        return idle;
      }
      await this.#more();
    }
  }

  release(worker: PythonWorker, runId: string): void {
    worker.runs.delete(runId);
    if ([...this.#workers].every(({ runs }) => runs.size === 0)) this.#spare?.unwant();
    if (worker.reservedFor === runId) worker.reservedFor = undefined;
    if (worker.runsWhenLost !== undefined) {
      this.#quarantine.add(runId);
      this.#quarantine.giveUp(runId);
      return;
    }
    this.#quarantine.release(runId);
    if (worker.isRetired && worker.runs.size === 0) this.#end(worker);
    else if (this.#workers.size > this.#options.workers && worker.busy === 0) this.#retire(worker, true);
    this.#wake();
  }

  /** It has a node that cannot be stopped: the others in it finish, and another process takes its place. */
  replace(worker: PythonWorker): void {
    this.#retire(worker, false);
    if (worker.runs.size === 0) this.#end(worker);
    this.#fill();
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    clearTimeout(this.#timer);
    const gone = new AppError({
      code: "graph.worker_lost",
      kind: "unavailable",
      message: "The server stops.",
    });
    for (const { reject } of this.#waiting.splice(0)) reject(gone);
    this.#spare?.stop();
    const all = [...this.#workers, ...this.#retiring];
    await Promise.all(all.map((worker) => worker.drain(drainMs)));
  }

  #end(worker: PythonWorker): void {
    void worker.killSettled("It had a node that could not be stopped.", drainMs);
  }

  #unreserve(runId: string): void {
    for (const worker of this.#workers) if (worker.reservedFor === runId) worker.reservedFor = undefined;
    this.#wake();
  }

  #retire(worker: PythonWorker, isIdle: boolean): void {
    if (!this.#workers.delete(worker)) return;
    worker.isRetired = true;
    this.#retiring.add(worker);
    if (isIdle) void worker.drain(drainMs);
  }

  #add(worker: PythonWorker): void {
    const bornAt = performance.now();
    this.#workers.add(worker);
    this.#wake();
    void worker.ended.then((error) => {
      const wasServing = this.#workers.delete(worker);
      this.#retiring.delete(worker);
      if (this.#isStopped || !wasServing) return;
      // What ends while it runs something is the fault of a run, which has three attempts and no more.
      const isSteady = Boolean(worker.runsWhenLost) || performance.now() - bornAt >= steadyMs;
      this.#failures = isSteady ? 0 : this.#failures + 1;
      this.#options.logger.error(
        { pid: worker.pid, runs: worker.runsWhenLost, reason: errorMessage(error) },
        "a Python process ended; another one takes its place",
      );
      this.#fill();
    });
  }

  /** Starts what is missing; one that ended soon after its start is followed by another only after a pause. */
  #fill(): void {
    if (this.#isStopped || this.#timer) return;
    const missing = this.#options.workers - this.#workers.size - this.#starting;
    if (missing <= 0) return;
    if (this.#failures <= 1) {
      for (let more = 0; more < missing; more += 1) void this.#spawn();
      return;
    }
    const pause = Math.min(maxPauseMs, firstPauseMs * 2 ** this.#failures);
    this.#timer = setTimeout(() => {
      this.#timer = undefined;
      this.#failures = Math.max(1, this.#failures);
      void this.#spawn();
    }, pause);
    this.#timer.unref();
  }

  #createSpare(): SpareWorker<PythonWorker> {
    const free = new FreeProcessors();
    return new SpareWorker({
      start: () => this.#options.start(),
      freeProcessors: () => free.look(),
      onReady: ({ pid }) => this.#options.logger.info({ pid }, "a Python process is in reserve"),
      onFailed: (error) => this.#warnOfSpare(error),
    });
  }

  #warnOfSpare(error: unknown): void {
    this.#options.logger.warn({ reason: errorMessage(error) }, "the Python process in reserve was of no use");
  }

  async #load(worker: PythonWorker): Promise<{ worker: PythonWorker; report: LoadReport }> {
    return { worker, report: await worker.load() };
  }

  /** The one in reserve, where there is one that can load the project. */
  async #next(): Promise<{ worker: PythonWorker; report: LoadReport }> {
    const spare = this.#spare?.take();
    if (spare) {
      try {
        return await this.#load(spare);
      } catch (error) {
        spare.kill("It could not load the project.");
        this.#warnOfSpare(error);
      }
    }
    return this.#load(this.#options.start());
  }

  async #spawn(): Promise<void> {
    this.#starting += 1;
    try {
      const { worker } = await this.#next();
      if (this.#isStopped) await worker.drain(drainMs);
      else this.#add(worker);
    } catch (error) {
      this.#failures += 1;
      this.#options.logger.error({ reason: errorMessage(error) }, "a Python process could not be started");
      const message = `There is no Python process to run the graph: ${errorMessage(error)}`;
      for (const { reject } of this.#waiting.splice(0))
        reject(new WorkerLost({ message, isShared: true, cause: error }));
    } finally {
      this.#starting -= 1;
      this.#fill();
    }
  }

  /** Resolves when there may be another process; one beyond the number is started for a run that is to be alone. */
  #more(): Promise<void> {
    if (this.#isStopped)
      return Promise.reject(new WorkerLost({ message: "The server stops.", isShared: true }));
    const waiting = new Promise<void>((resolve, reject) => this.#waiting.push({ resolve, reject }));
    if (this.#starting === 0 && !this.#timer && this.#workers.size <= this.#options.workers)
      void this.#spawn();
    return waiting;
  }

  #wake(): void {
    for (const { resolve } of this.#waiting.splice(0)) resolve();
  }
}
