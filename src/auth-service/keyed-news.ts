import type { Database, Unlisten } from "../platform/db/database.ts";

/** Waiting for a notification about one thing, without missing it and without trusting that it comes. */
export type KeyedNews = {
  start(): Promise<void>;
  stop(): Promise<void>;
  /** Begin to listen before looking: what happens in between then ends the wait at once. */
  listen(key: string): { until(ms: number, signal?: AbortSignal): Promise<void>; end(): void };
};

export function createKeyedNews(database: Database, channel: string): KeyedNews {
  const listeners = new Map<string, Set<() => void>>();
  let unlisten: Unlisten | undefined;

  const tell = (key: string) => {
    for (const hear of listeners.get(key) ?? []) hear();
  };
  const tellAll = () => {
    for (const key of listeners.keys()) tell(key);
  };

  return {
    async start() {
      unlisten ??= await database.listen(channel, tell, tellAll);
    },
    async stop() {
      await unlisten?.();
      unlisten = undefined;
      tellAll();
    },
    listen(key) {
      const heard = Promise.withResolvers<void>();
      const all = listeners.get(key) ?? new Set();
      listeners.set(key, all);
      all.add(heard.resolve);
      return {
        async until(ms, signal) {
          const late = Promise.withResolvers<void>();
          const timer = setTimeout(late.resolve, ms);
          signal?.addEventListener("abort", () => late.resolve(), { once: true });
          if (signal?.aborted) late.resolve();
          await Promise.race([heard.promise, late.promise]);
          clearTimeout(timer);
        },
        end() {
          all.delete(heard.resolve);
          if (all.size === 0) listeners.delete(key);
        },
      };
    },
  };
}
