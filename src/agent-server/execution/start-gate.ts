/**
 * Lets runs begin in the order they came. Beginning a run is computation: the graph is set up and runs until it first
 * waits for something. Many runs that begin together delay every event of the active runs until the last of them has
 * begun. So, while clients listen, one turn of the event loop lies between two beginnings. While no client listens,
 * runs begin together: their queries then reach the database together, which costs each run a third less. This does not
 * limit how many runs are active: a run that waits for a model delays no other.
 */
export class StartGate {
  readonly #hasListeners: () => boolean;
  readonly #waiting: (() => void)[] = [];
  #scheduled = false;

  constructor(hasListeners: () => boolean) {
    this.#hasListeners = hasListeners;
  }

  /** Resolves when it is the caller's turn. */
  async enter(): Promise<void> {
    if (this.#waiting.length === 0 && !this.#hasListeners()) return;
    await new Promise<void>((resolve) => {
      this.#waiting.push(resolve);
      this.#schedule();
    });
  }

  #schedule(): void {
    if (this.#scheduled || this.#waiting.length === 0) return;
    this.#scheduled = true;
    // An immediate that is set by another one waits for the next turn, after timers, sockets and the database.
    setImmediate(() => {
      this.#scheduled = false;
      const count = this.#hasListeners() ? 1 : this.#waiting.length;
      for (const begin of this.#waiting.splice(0, count)) begin();
      this.#schedule();
    });
  }
}
