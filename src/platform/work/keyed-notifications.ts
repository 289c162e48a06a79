import type { Database, Unlisten } from "../db/database.ts";

/** Waiting for a notification about one thing, without missing it and without trusting that it comes. */
export class KeyedNotifications {
  readonly #database: Database;
  readonly #channel: string;
  readonly #listeners = new Map<string, Set<() => void>>();
  #unlisten: Unlisten | undefined;

  constructor(database: Database, channel: string) {
    this.#database = database;
    this.#channel = channel;
  }

  async start(): Promise<void> {
    this.#unlisten ??= await this.#database.listen(
      this.#channel,
      (key) => this.#notify(key),
      () => this.#notifyAll(),
    );
  }

  async stop(): Promise<void> {
    await this.#unlisten?.();
    this.#unlisten = undefined;
    this.#notifyAll();
  }

  /** Begin to listen before looking: what happens in between then ends the wait at once. */
  listen(key: string): { until(ms: number, signal?: AbortSignal): Promise<void>; end(): void } {
    const notified = Promise.withResolvers<void>();
    const all = this.#listeners.get(key) ?? new Set();
    this.#listeners.set(key, all);
    all.add(notified.resolve);
    return {
      async until(ms, signal) {
        const late = Promise.withResolvers<void>();
        const timer = setTimeout(late.resolve, ms);
        signal?.addEventListener("abort", () => late.resolve(), { once: true });
        if (signal?.aborted) late.resolve();
        await Promise.race([notified.promise, late.promise]);
        clearTimeout(timer);
      },
      end: () => {
        all.delete(notified.resolve);
        if (all.size === 0) this.#listeners.delete(key);
      },
    };
  }

  #notify(key: string): void {
    for (const listener of this.#listeners.get(key) ?? []) listener();
  }

  #notifyAll(): void {
    for (const key of this.#listeners.keys()) this.#notify(key);
  }
}
