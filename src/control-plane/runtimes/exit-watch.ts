import { isAliveNow, type ProcessIdentity } from "../sandbox/process-table.ts";

const lookMs = 1_000;

/**
 * Detects that processes which are not children of this one have ended. One check a second for all of them: the kernel
 * notifies only parents, and the parent was a platform that is gone.
 */
export class ExitWatch {
  readonly #waiting = new Map<() => void, ProcessIdentity>();
  #timer: NodeJS.Timeout | undefined;

  /** Rejects with the signal's reason when it is aborted. */
  async ended(identity: ProcessIdentity, signal: AbortSignal): Promise<void> {
    if (!isAliveNow(identity)) return;
    signal.throwIfAborted();
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const abort = () => {
      this.#waiting.delete(resolve);
      reject(signal.reason);
    };
    signal.addEventListener("abort", abort, { once: true });
    this.#waiting.set(resolve, identity);
    this.#timer ??= setInterval(() => this.#look(), lookMs).unref();
    try {
      await promise;
    } finally {
      signal.removeEventListener("abort", abort);
    }
  }

  #look(): void {
    for (const [ended, identity] of this.#waiting) {
      if (isAliveNow(identity)) continue;
      this.#waiting.delete(ended);
      ended();
    }
    if (this.#waiting.size > 0) return;
    clearInterval(this.#timer);
    this.#timer = undefined;
  }
}
