/** Limits how many run at once, in order of arrival; a caller that stops waiting leaves the queue. */
export class Turns {
  readonly #most: number;
  #taken = 0;
  readonly #waiting: (() => void)[] = [];

  constructor(most: number) {
    this.#most = most;
  }

  /** Whether a new caller has to wait. */
  get isFull(): boolean {
    return this.#taken >= this.#most;
  }

  get isIdle(): boolean {
    return this.#taken === 0 && this.#waiting.length === 0;
  }

  async run<T>(signal: AbortSignal, work: () => Promise<T>): Promise<T> {
    await this.#take(signal);
    try {
      return await work();
    } finally {
      const next = this.#waiting.shift();
      // The turn is handed to the next in line directly, so that no later caller gets in between.
      if (next) next();
      else this.#taken -= 1;
    }
  }

  async #take(signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    if (!this.isFull) {
      this.#taken += 1;
      return;
    }
    await new Promise<void>((resolve, reject) => {
      const leave = () => {
        this.#waiting.splice(this.#waiting.indexOf(enter), 1);
        reject(signal.reason);
      };
      const enter = () => {
        signal.removeEventListener("abort", leave);
        resolve();
      };
      signal.addEventListener("abort", leave, { once: true });
      this.#waiting.push(enter);
    });
  }
}

/** Separate turns for each key. */
export class KeyedTurns {
  readonly #most: number;
  readonly #turns = new Map<string, Turns>();

  constructor(mostPerKey: number) {
    this.#most = mostPerKey;
  }

  async run<T>(key: string, signal: AbortSignal, work: () => Promise<T>): Promise<T> {
    const turns = this.#turns.get(key) ?? new Turns(this.#most);
    this.#turns.set(key, turns);
    try {
      return await turns.run(signal, work);
    } finally {
      if (turns.isIdle) this.#turns.delete(key);
    }
  }
}
