import type { Database, Unlisten } from "../platform/db/database.ts";

/** Waiting for a notification about one thing, without missing it and without trusting that it comes. */
export type KeyedNotifications = {
  start(): Promise<void>;
  stop(): Promise<void>;
  /** Begin to listen before looking: what happens in between then ends the wait at once. */
  listen(key: string): { until(ms: number, signal?: AbortSignal): Promise<void>; end(): void };
};

export function createKeyedNotifications(database: Database, channel: string): KeyedNotifications {
  const listeners = new Map<string, Set<() => void>>();
  let unlisten: Unlisten | undefined;

  const notify = (key: string) => {
    for (const listener of listeners.get(key) ?? []) listener();
  };
  const notifyAll = () => {
    for (const key of listeners.keys()) notify(key);
  };

  return {
    async start() {
      unlisten ??= await database.listen(channel, notify, notifyAll);
    },
    async stop() {
      await unlisten?.();
      unlisten = undefined;
      notifyAll();
    },
    listen(key) {
      const notified = Promise.withResolvers<void>();
      const all = listeners.get(key) ?? new Set();
      listeners.set(key, all);
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
        end() {
          all.delete(notified.resolve);
          if (all.size === 0) listeners.delete(key);
        },
      };
    },
  };
}
