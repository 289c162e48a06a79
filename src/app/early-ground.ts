/** What a server stands on, opened while other processes of it start. */
export class EarlyGround<Ground> {
  readonly #open: () => Promise<Ground>;
  #opening: Promise<Ground> | undefined;

  constructor(open: () => Promise<Ground>) {
    this.#open = open;
  }

  /** Once. What fails is thrown by `opened`. */
  begin(): void {
    if (this.#opening) return;
    this.#opening = this.#open();
    this.#opening.catch(() => undefined);
  }

  opened(): Promise<Ground> {
    this.begin();
    return this.#opening!;
  }

  /** Where the other start fails, what is being opened is waited for: only what is open can be closed. */
  async beside<T>(other: Promise<T>): Promise<T> {
    try {
      return await other;
    } catch (error) {
      await this.#opening?.catch(() => undefined);
      throw error;
    }
  }
}
