import { useSyncExternalStore } from "react";

/** Whether the server answered the last request. */
class Reachability {
  #listeners = new Set<() => void>();
  #reachable = true;

  get reachable(): boolean {
    return this.#reachable;
  }

  report(reachable: boolean): void {
    if (reachable === this.#reachable) return;
    this.#reachable = reachable;
    for (const listener of this.#listeners) listener();
  }

  /** Asks now. A broken stream or a missing file may have other reasons. */
  async check(): Promise<void> {
    const answer = await fetch("/ok").catch(() => null);
    this.report(answer !== null);
  }

  /** Resolves when the server answers again. */
  returned(): Promise<void> {
    return new Promise((resolve) => {
      const stop = this.subscribe(() => {
        if (!this.#reachable) return;
        stop();
        resolve();
      });
    });
  }

  subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  };
}

export const reachability = new Reachability();

export function useReachable(): boolean {
  return useSyncExternalStore(reachability.subscribe, () => reachability.reachable);
}
