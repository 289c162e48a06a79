import { isAliveNow, type ProcessIdentity } from "../sandbox/process-table.ts";

const lookMs = 1_000;

/**
 * Detects that processes which are not children of this one have ended. One check a second for all of them: the kernel
 * notifies only parents, and the parent was a platform that is gone.
 */
export function createExitWatch() {
  const waiting = new Map<() => void, ProcessIdentity>();
  let timer: NodeJS.Timeout | undefined;

  function look(): void {
    for (const [ended, identity] of waiting) {
      if (isAliveNow(identity)) continue;
      waiting.delete(ended);
      ended();
    }
    if (waiting.size > 0) return;
    clearInterval(timer);
    timer = undefined;
  }

  return {
    /** Rejects with the signal's reason when nobody waits any more. */
    async ended(identity: ProcessIdentity, signal: AbortSignal): Promise<void> {
      if (!isAliveNow(identity)) return;
      signal.throwIfAborted();
      const { promise, resolve, reject } = Promise.withResolvers<void>();
      const abort = () => {
        waiting.delete(resolve);
        reject(signal.reason);
      };
      signal.addEventListener("abort", abort, { once: true });
      waiting.set(resolve, identity);
      timer ??= setInterval(look, lookMs).unref();
      try {
        await promise;
      } finally {
        signal.removeEventListener("abort", abort);
      }
    },
  };
}
