/**
 * Lets runs begin in the order they came. To begin is computation: the graph is set up and runs until it first waits
 * for something, and many that begin together hold up every word of those under way until the last of them has
 * begun. So, while somebody listens, a turn of the event loop lies between two beginnings. While nobody does, they
 * begin together: what they then ask of the database goes there together, which costs each of them a third less.
 * How many run at the same time is not limited here: who waits for a model is in nobody's way.
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
