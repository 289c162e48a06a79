/** One that ran alone as long is not what ended the process: the next may be tried beside it. */
const clearMs = 5_000;
const maxHeld = 10_000;

/**
 * Runs that were in a process when it ended, any of which may have been the cause: they are tried again one at a time,
 * each alone in a process, so that the others do not end with it again.
 */
export class Quarantine {
  readonly #held = new Set<string>();
  #current: string | undefined;
  #timer: NodeJS.Timeout | undefined;
  readonly #queue: { runId: string; admit(): void }[] = [];
  readonly #onCleared: (runId: string) => void;

  /** `onCleared`: the run need not be alone any more. */
  constructor(onCleared: (runId: string) => void) {
    this.#onCleared = onCleared;
  }

  add(runId: string): void {
    if (this.#held.size < maxHeld) this.#held.add(runId);
  }

  holds(runId: string): boolean {
    return this.#held.has(runId);
  }

  /** Resolves when the run may look for a process of its own. */
  turn(runId: string, signal: AbortSignal): Promise<void> {
    if (signal.aborted) return Promise.reject(signal.reason as Error);
    if (this.#current === undefined) {
      this.#current = runId;
      return Promise.resolve();
    }
    return new Promise((resolve, reject) => {
      const entry = {
        runId,
        admit: () => {
          signal.removeEventListener("abort", leave);
          resolve();
        },
      };
      const leave = () => {
        this.#queue.splice(this.#queue.indexOf(entry), 1);
        reject(signal.reason as Error);
      };
      signal.addEventListener("abort", leave, { once: true });
      this.#queue.push(entry);
    });
  }

  /** It has its process: from now on it may show that it is not the cause. */
  begin(runId: string): void {
    this.#timer = setTimeout(() => {
      this.#held.delete(runId);
      this.#onCleared(runId);
      this.#next();
    }, clearMs);
    this.#timer.unref();
  }

  /** The run is over in its process, which is still there. */
  release(runId: string): void {
    this.#held.delete(runId);
    this.giveUp(runId);
  }

  /** The run is no longer active; it is still to be tried alone. */
  giveUp(runId: string): void {
    if (this.#current === runId) this.#next();
  }

  #next(): void {
    clearTimeout(this.#timer);
    this.#current = undefined;
    const next = this.#queue.shift();
    if (!next) return;
    this.#current = next.runId;
    next.admit();
  }
}
