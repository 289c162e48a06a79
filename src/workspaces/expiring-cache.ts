import type { Clock } from "../platform/clock.ts";

export type ExpiringCache<Value> = {
  get(key: string): Value | undefined;
  /** Keeps what `load` finds; what was being loaded while the cache was cleared is returned, not kept. */
  load(key: string, load: () => Promise<Value | undefined>): Promise<Value | undefined>;
  clear(): void;
  size(): number;
};

/** Bounded: the entry used longest ago goes first. Only what was found is kept, so a stranger cannot fill it. */
export function createExpiringCache<Value>(options: {
  clock: Clock;
  ttlMs: number;
  maxEntries: number;
}): ExpiringCache<Value> {
  const entries = new Map<string, { value: Value; expiresAt: number }>();
  let generation = 0;

  function get(key: string): Value | undefined {
    const entry = entries.get(key);
    if (!entry) return undefined;
    entries.delete(key);
    if (entry.expiresAt <= options.clock.now().getTime()) return undefined;
    entries.set(key, entry);
    return entry.value;
  }

  return {
    get,
    async load(key, load) {
      const known = get(key);
      if (known !== undefined) return known;
      const startedIn = generation;
      // From before the look-up: an answer is as old as its question.
      const expiresAt = options.clock.now().getTime() + options.ttlMs;
      const value = await load();
      if (value === undefined || startedIn !== generation) return value;
      entries.set(key, { value, expiresAt });
      for (const oldest of entries.keys()) {
        if (entries.size <= options.maxEntries) break;
        entries.delete(oldest);
      }
      return value;
    },
    clear() {
      generation += 1;
      entries.clear();
    },
    size: () => entries.size,
  };
}
