import { setTimeout as delay } from "node:timers/promises";
import { AppError, errorMessage } from "../platform/errors.ts";
import type { SseFrame } from "../platform/http/server/sse.ts";
import type { Logger } from "../platform/logger.ts";
import type { ChangeScope, ChangeTopic, ChangeTopics } from "./change-topic.ts";

export type ChangeFeedOptions = {
  topics: ChangeTopics;
  logger: Logger;
  pollMs?: number;
  maxListeners?: number;
  maxListenersPerWorkspace?: number;
  /** A stream ends after this long and is opened again: a key that was revoked meanwhile is noticed. */
  maxAgeMs?: number;
};

type Watch = { listeners: Set<Listener>; stop: AbortController; ready: Promise<void> };

/**
 * Hints that something has changed, never what. One small query per topic and second for everybody who listens in a
 * workspace; each process looks for itself, so nothing is lost when another process made the change.
 */
export class ChangeFeed {
  readonly #topics: ChangeTopics;
  readonly #logger: Logger;
  readonly #pollMs: number;
  readonly #maxAgeMs: number;
  readonly #maxListeners: number;
  readonly #maxListenersPerWorkspace: number;
  readonly #watches = new Map<string, Watch>();
  readonly #listening = new Map<string, number>();
  #total = 0;

  constructor(options: ChangeFeedOptions) {
    this.#topics = options.topics;
    this.#logger = options.logger;
    this.#pollMs = options.pollMs ?? 1_000;
    this.#maxAgeMs = options.maxAgeMs ?? 5 * 60_000;
    this.#maxListeners = options.maxListeners ?? 1_000;
    this.#maxListenersPerWorkspace = options.maxListenersPerWorkspace ?? 200;
  }

  /** How many marks are being watched; none without listeners. */
  watching(): number {
    return this.#watches.size;
  }

  /** Refuses at once when too many listen; what it returns streams hints until the signal or its age ends it. */
  follow(
    scope: ChangeScope,
    topics: readonly ChangeTopic[],
  ): (signal: AbortSignal) => AsyncGenerator<SseFrame[]> {
    const inWorkspace = this.#listening.get(scope.workspaceId) ?? 0;
    if (this.#total >= this.#maxListeners || inWorkspace >= this.#maxListenersPerWorkspace) throw tooMany();
    return (signal) => this.#frames(scope, topics, signal);
  }

  async *#frames(
    scope: ChangeScope,
    topics: readonly ChangeTopic[],
    signal: AbortSignal,
  ): AsyncGenerator<SseFrame[]> {
    const ending = AbortSignal.any([signal, AbortSignal.timeout(this.#maxAgeMs)]);
    const listener = new Listener(ending);
    this.#count(scope.workspaceId, 1);
    const joined = topics.map((topic) => this.#join(topic, scope, listener));
    try {
      await Promise.all(joined.map(({ ready }) => ready));
      if (ending.aborted) return;
      // From here on nothing is missed; what was read earlier may be old.
      yield [{ event: "ready", data: JSON.stringify({ topics }) }];
      for (;;) {
        const changed = await listener.next();
        if (ending.aborted) return;
        yield changed.map((topic) => ({ event: "change", data: JSON.stringify({ topic }) }));
      }
    } finally {
      for (const { leave } of joined) leave();
      this.#count(scope.workspaceId, -1);
    }
  }

  #count(workspaceId: string, by: 1 | -1): void {
    this.#total += by;
    const left = (this.#listening.get(workspaceId) ?? 0) + by;
    if (left === 0) this.#listening.delete(workspaceId);
    else this.#listening.set(workspaceId, left);
  }

  #join(
    topic: ChangeTopic,
    scope: ChangeScope,
    listener: Listener,
  ): { ready: Promise<void>; leave: () => void } {
    const key = [topic, scope.workspaceId, this.#topics[topic].perUser ? scope.userId : ""].join(" ");
    const watch = this.#watches.get(key) ?? this.#startWatch(topic, scope);
    this.#watches.set(key, watch);
    watch.listeners.add(listener);
    const leave = () => {
      watch.listeners.delete(listener);
      if (watch.listeners.size > 0) return;
      watch.stop.abort();
      this.#watches.delete(key);
    };
    return { ready: watch.ready, leave };
  }

  #startWatch(topic: ChangeTopic, scope: ChangeScope): Watch {
    const stop = new AbortController();
    const first = Promise.withResolvers<void>();
    const watch: Watch = { listeners: new Set(), stop, ready: first.promise };
    void this.#poll(topic, scope, watch, first.resolve);
    return watch;
  }

  async #poll(topic: ChangeTopic, scope: ChangeScope, watch: Watch, ready: () => void): Promise<void> {
    const { signal } = watch.stop;
    let known: string | undefined;
    let failing = false;
    while (!signal.aborted) {
      try {
        const mark = await this.#topics[topic].mark(scope);
        // Also after a failure: what happened meanwhile is not known.
        const changed = known !== undefined && (failing || mark !== known);
        known = mark;
        failing = false;
        if (changed) {
          for (const listener of watch.listeners) listener.note(topic);
        }
      } catch (error) {
        if (!failing)
          this.#logger.warn({ topic, err: errorMessage(error) }, "changes cannot be watched; trying again");
        failing = true;
        known ??= "";
      }
      ready();
      const waitMs = failing ? this.#pollMs * 5 : this.#pollMs;
      await delay(waitMs, undefined, { signal, ref: false }).catch(() => undefined);
    }
    ready();
  }
}

/** One page that listens: what changed since it last asked, each topic once. */
class Listener {
  readonly #ending: AbortSignal;
  readonly #pending = new Set<ChangeTopic>();
  #woken = Promise.withResolvers<void>();

  constructor(ending: AbortSignal) {
    this.#ending = ending;
    ending.addEventListener("abort", () => this.#woken.resolve(), { once: true });
  }

  note(topic: ChangeTopic): void {
    this.#pending.add(topic);
    this.#woken.resolve();
  }

  /** Waits until something changed or the stream ends. */
  async next(): Promise<ChangeTopic[]> {
    if (this.#pending.size === 0 && !this.#ending.aborted) {
      this.#woken = Promise.withResolvers<void>();
      await this.#woken.promise;
    }
    const changed = [...this.#pending];
    this.#pending.clear();
    return changed;
  }
}

function tooMany(): AppError {
  return new AppError({
    code: "console.too_many_listeners",
    kind: "rate_limited",
    message: "Too many pages listen for changes. Close some, or try again in a moment.",
    headers: { "retry-after": "10" },
  });
}
