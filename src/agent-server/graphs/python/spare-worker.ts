import type { PythonWorker } from "./python-worker.ts";

type Spare = Pick<PythonWorker, "ended" | "kill">;

export type SpareWorkerOptions<Worker extends Spare> = {
  /** A process that has imported the libraries, but not the project. */
  prepare(): Worker;
  /** After the first run: its start is not to slow that down. */
  afterMs?: number;
  /** How long it is kept when nothing runs any more. */
  keptMs?: number;
};

const defaultAfterMs = 3_000;
const defaultKeptMs = 60_000;

/**
 * A process in reserve while runs are under way: most of what a new one takes is the import of the graph library. It
 * has nothing of the project, so that what the project does when it is imported is done once for each process that
 * serves. Idle there is none.
 */
export class SpareWorker<Worker extends Spare> {
  readonly #options: SpareWorkerOptions<Worker>;
  #worker: Worker | undefined;
  #isWanted = false;
  #start: NodeJS.Timeout | undefined;
  #drop: NodeJS.Timeout | undefined;

  constructor(options: SpareWorkerOptions<Worker>) {
    this.#options = options;
  }

  /** A run is under way. */
  want(): void {
    this.#isWanted = true;
    clearTimeout(this.#drop);
    if (this.#worker || this.#start) return;
    this.#start = setTimeout(() => this.#prepare(), this.#options.afterMs ?? defaultAfterMs).unref();
  }

  /** None is. */
  unwant(): void {
    this.#isWanted = false;
    clearTimeout(this.#drop);
    if (this.#worker)
      this.#drop = setTimeout(() => this.stop(), this.#options.keptMs ?? defaultKeptMs).unref();
  }

  /** The process, to be loaded; undefined when there is none. */
  take(): Worker | undefined {
    const worker = this.#worker;
    this.#worker = undefined;
    return worker;
  }

  stop(): void {
    clearTimeout(this.#start);
    clearTimeout(this.#drop);
    this.take()?.kill("It was not needed.");
  }

  #prepare(): void {
    this.#start = undefined;
    if (!this.#isWanted) return;
    const worker = this.#options.prepare();
    this.#worker = worker;
    void worker.ended.then(() => {
      if (this.#worker === worker) this.#worker = undefined;
    });
  }
}
