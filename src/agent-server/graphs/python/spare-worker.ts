import type { PythonWorker } from "./python-worker.ts";

type Spare = Pick<PythonWorker, "ended" | "kill" | "warm">;

export type SpareWorkerOptions<Worker extends Spare> = {
  /** Starts a process, which is to import the libraries, but not the project. */
  start(): Worker;
  /** How many processors have had nothing to do since it was last asked. */
  freeProcessors(): number;
  /** It can be taken from now on. */
  onReady(worker: Worker): void;
  /** What went wrong with one. */
  onFailed(error: unknown): void;
};

/** After the first run: its start is not to slow that down. */
const afterMs = 3_000;
/** While others need the processors it is put off, by this much each time. */
const lookMs = 1_000;
/** And for this long at most: a server that is never at rest needs it as well. */
const putOffMs = 30_000;
/** How much of a processor is to be free for its imports, which take one for one to two seconds. */
const enoughFree = 0.5;
/** How long it is kept when nothing runs any more. */
const keptMs = 60_000;

/**
 * A spare process while runs are active: most of the start of a process is the import of the graph library. It loads
 * nothing of the project, so that the project's import code runs once in each process that serves. It is started when a
 * processor is free, and at a low priority. An idle server has none.
 */
export class SpareWorker<Worker extends Spare> {
  readonly #options: SpareWorkerOptions<Worker>;
  #worker: Worker | undefined;
  #isWarm = false;
  #isWanted = false;
  #start: NodeJS.Timeout | undefined;
  #drop: NodeJS.Timeout | undefined;

  constructor(options: SpareWorkerOptions<Worker>) {
    this.#options = options;
  }

  /** A run is active. */
  want(): void {
    this.#isWanted = true;
    clearTimeout(this.#drop);
    if (this.#worker || this.#start) return;
    this.#options.freeProcessors();
    this.#lookIn(afterMs, performance.now() + putOffMs);
  }

  /** None is. */
  unwant(): void {
    this.#isWanted = false;
    clearTimeout(this.#drop);
    if (this.#worker) this.#drop = setTimeout(() => this.stop(), keptMs).unref();
  }

  /** The process, to be loaded; undefined when there is none, or none that is ready. */
  take(): Worker | undefined {
    // It imports at a low priority: one that begins now is sooner ready than one that is half done.
    return this.#isWarm ? this.#leave() : undefined;
  }

  stop(): void {
    clearTimeout(this.#start);
    clearTimeout(this.#drop);
    this.#leave()?.kill("It was not needed.");
  }

  #leave(): Worker | undefined {
    const worker = this.#worker;
    this.#worker = undefined;
    this.#isWarm = false;
    return worker;
  }

  #lookIn(waitMs: number, deadline: number): void {
    this.#start = setTimeout(() => {
      this.#start = undefined;
      if (!this.#isWanted) return;
      const isFree = this.#options.freeProcessors() >= enoughFree;
      if (isFree || performance.now() >= deadline) void this.#prepare();
      else this.#lookIn(lookMs, deadline);
    }, waitMs).unref();
  }

  async #prepare(): Promise<void> {
    const worker = this.#options.start();
    this.#worker = worker;
    void worker.ended.then(() => {
      if (this.#worker === worker) this.#leave();
    });
    try {
      await worker.warm();
      if (this.#worker !== worker) return;
      this.#isWarm = true;
      this.#options.onReady(worker);
    } catch (error) {
      // One that was stopped is not missed.
      if (this.#worker !== worker) return;
      this.#leave();
      worker.kill("It could not import the libraries.");
      this.#options.onFailed(error);
    }
  }
}
