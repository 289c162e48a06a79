import { LRUCache } from "lru-cache";
import type { Clock } from "./clock.ts";

type ExpiringCacheOptions = {
  clock: Clock;
  ttlMs: number;
  maxEntries: number;
};

/** Bounded: the entry used longest ago goes first. Only what was found is kept, so a stranger cannot fill it. */
export class ExpiringCache<Value extends NonNullable<unknown>> {
  readonly #clock: Clock;
  readonly #entries: LRUCache<string, Value>;
  #generation = 0;

  constructor(options: ExpiringCacheOptions) {
    this.#clock = options.clock;
    this.#entries = new LRUCache<string, Value>({
      max: options.maxEntries,
      ttl: options.ttlMs,
      ttlResolution: 0,
      perf: { now: () => this.#nowMs() },
    });
  }

  get(key: string): Value | undefined {
    return this.#entries.get(key);
  }

  /** Keeps what `load` finds; what was being loaded while the cache was cleared is returned, not kept. */
  async load(key: string, load: () => Promise<Value | undefined>): Promise<Value | undefined> {
    const known = this.#entries.get(key);
    if (known !== undefined) return known;
    const startedIn = this.#generation;
    // From before the look-up: an answer is as old as its question.
    const start = this.#nowMs();
    const value = await load();
    if (value !== undefined && startedIn === this.#generation) this.#entries.set(key, value, { start });
    return value;
  }

  clear(): void {
    this.#generation += 1;
    this.#entries.clear();
  }

  size(): number {
    return this.#entries.size;
  }

  #nowMs(): number {
    return this.#clock.now().getTime();
  }
}
