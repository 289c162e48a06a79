/** Runs what was pushed onto it, last first; every step gets its chance even if an earlier one fails. */
export class Closers {
  readonly #steps: (() => Promise<unknown>)[] = [];

  push(step: () => Promise<unknown>): void {
    this.#steps.push(step);
  }

  async run(): Promise<void> {
    const failures: unknown[] = [];
    for (let step = this.#steps.pop(); step; step = this.#steps.pop()) {
      await step().catch((error: unknown) => failures.push(error));
    }
    if (failures.length > 0) throw new AggregateError(failures, "Not everything could be closed in order.");
  }
}
