import { AppError } from "../../errors.ts";

/** A full disk is checked again this often at most, for any number of requests. */
const lookEveryMs = 2_000;

/**
 * Remembers that the database had no room to write. Reading still works in that state, so a health check that only reads
 * would call a server healthy that stores nothing.
 */
export class DiskWatch {
  #full: AppError | undefined;
  #lookedAt = 0;

  /** Passes every error on. */
  note<T>(error: T): T {
    if (error instanceof AppError && error.code === "database.full") {
      this.#full = error;
      this.#lookedAt = performance.now();
    }
    return error;
  }

  /** Rejects while there is no room. `write` is tried only after a write failed: it shows whether there is room again. */
  async check(write: () => Promise<unknown>): Promise<void> {
    if (!this.#full) return;
    if (performance.now() - this.#lookedAt < lookEveryMs) throw this.#full;
    this.#lookedAt = performance.now();
    await write();
    this.#full = undefined;
  }
}
