import { LRUCache } from "lru-cache";
import type { Clock } from "../../platform/clock.ts";

export type ExpiringCache<Value> = {
  get(key: string): Value | undefined;
  /** Keeps what `load` finds; what was being loaded while the cache was cleared is returned, not kept. */
  load(key: string, load: () => Promise<Value | undefined>): Promise<Value | undefined>;
  clear(): void;
  size(): number;
};

/** Bounded: the entry used longest ago goes first. Only what was found is kept, so a stranger cannot fill it. */
export function createExpiringCache<Value extends NonNullable<unknown>>(options: {
  clock: Clock;
  ttlMs: number;
  maxEntries: number;
}): ExpiringCache<Value> {
  const nowMs = () => options.clock.now().getTime();
  const entries = new LRUCache<string, Value>({
    max: options.maxEntries,
    ttl: options.ttlMs,
    ttlResolution: 0,
    perf: { now: nowMs },
  });
  let generation = 0;

  return {
    get: (key) => entries.get(key),
    async load(key, load) {
      const known = entries.get(key);
      if (known !== undefined) return known;
      const startedIn = generation;
      // From before the look-up: an answer is as old as its question.
      const start = nowMs();
      const value = await load();
      if (value !== undefined && startedIn === generation) entries.set(key, value, { start });
      return value;
    },
    clear() {
      generation += 1;
      entries.clear();
    },
    size: () => entries.size,
  };
}
