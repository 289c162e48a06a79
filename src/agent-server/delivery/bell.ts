/** Wakes one reader: something may have happened. One for as long as it reads, not one for each time it waits. */
export class Bell {
  #rung = false;
  #wake: (() => void) | undefined;

  readonly ring = (): void => {
    this.#rung = true;
    this.#wake?.();
    this.#wake = undefined;
  };

  /** Whether it rang since it was last asked. To be asked before looking, so that nothing is missed. */
  take(): boolean {
    const rung = this.#rung;
    this.#rung = false;
    return rung;
  }

  /** Resolves when it has rung. */
  async rings(): Promise<void> {
    if (this.#rung) return;
    await new Promise<void>((resolve) => {
      this.#wake = resolve;
    });
  }
}
