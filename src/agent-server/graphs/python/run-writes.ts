/** The checkpoints of one run on their way to the database. The first that fails stops the run. */
export class RunWrites {
  readonly #onFailure: (error: unknown) => void;
  readonly #pending = new Set<Promise<unknown>>();
  #failure: { error: unknown } | undefined;

  constructor(onFailure: (error: unknown) => void) {
    this.#onFailure = onFailure;
  }

  get failure(): { error: unknown } | undefined {
    return this.#failure;
  }

  note<T>(write: Promise<T>): Promise<T> {
    const noted = write
      .catch((error: unknown) => {
        this.#failure ??= { error };
        this.#onFailure(error);
      })
      .finally(() => this.#pending.delete(noted));
    this.#pending.add(noted);
    return write;
  }

  /** Resolves when none is left, whether they were written or refused. */
  async settled(): Promise<void> {
    while (this.#pending.size > 0) await Promise.all(this.#pending);
  }
}
