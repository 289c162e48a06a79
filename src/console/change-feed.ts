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

export type ChangeFeed = {
  /** Refuses at once when too many listen; what it returns streams hints until the signal or its age ends it. */
  follow(
    scope: ChangeScope,
    topics: readonly ChangeTopic[],
  ): (signal: AbortSignal) => AsyncGenerator<SseFrame[]>;
  /** How many marks are being watched. Nobody listens: none. */
  watching(): number;
};

type Listener = { pending: Set<ChangeTopic>; wake(): void };
type Watch = { listeners: Set<Listener>; stop: AbortController; ready: Promise<void> };

/**
 * Hints that something has changed, never what. One small query per topic and second for everybody who listens in a
 * workspace; each process looks for itself, so nothing is lost when another process made the change.
 */
export function createChangeFeed(options: ChangeFeedOptions): ChangeFeed {
  const { topics, logger, pollMs = 1_000, maxAgeMs = 5 * 60_000 } = options;
  const { maxListeners = 1_000, maxListenersPerWorkspace = 200 } = options;
  const watches = new Map<string, Watch>();
  const listening = new Map<string, number>();
  let total = 0;

  return {
    watching: () => watches.size,
    follow(scope, wanted) {
      const inWorkspace = listening.get(scope.workspaceId) ?? 0;
      if (total >= maxListeners || inWorkspace >= maxListenersPerWorkspace) throw tooMany();
      return async function* frames(signal) {
        const ending = AbortSignal.any([signal, AbortSignal.timeout(maxAgeMs)]);
        const waiting = newListener(ending);
        count(scope.workspaceId, 1);
        const leave = wanted.map((topic) => join(topic, scope, waiting.listener));
        try {
          await Promise.all(leave.map(({ ready }) => ready));
          if (ending.aborted) return;
          // From here on nothing is missed; what was read earlier may be old.
          yield [{ event: "ready", data: JSON.stringify({ topics: wanted }) }];
          for (;;) {
            await waiting.next();
            if (ending.aborted) return;
            const changed = [...waiting.listener.pending];
            waiting.listener.pending.clear();
            yield changed.map((topic) => ({ event: "change", data: JSON.stringify({ topic }) }));
          }
        } finally {
          for (const { leave: go } of leave) go();
          count(scope.workspaceId, -1);
        }
      };
    },
  };

  function count(workspaceId: string, by: 1 | -1): void {
    total += by;
    const left = (listening.get(workspaceId) ?? 0) + by;
    if (left === 0) listening.delete(workspaceId);
    else listening.set(workspaceId, left);
  }

  function join(topic: ChangeTopic, scope: ChangeScope, listener: Listener) {
    const key = [topic, scope.workspaceId, topics[topic].perUser ? scope.userId : ""].join(" ");
    const watch = watches.get(key) ?? startWatch(topic, scope);
    watches.set(key, watch);
    watch.listeners.add(listener);
    const leave = () => {
      watch.listeners.delete(listener);
      if (watch.listeners.size > 0) return;
      watch.stop.abort();
      watches.delete(key);
    };
    return { ready: watch.ready, leave };
  }

  function startWatch(topic: ChangeTopic, scope: ChangeScope): Watch {
    const stop = new AbortController();
    const first = Promise.withResolvers<void>();
    const watch: Watch = { listeners: new Set(), stop, ready: first.promise };
    void poll(topic, scope, watch, first.resolve);
    return watch;
  }

  async function poll(
    topic: ChangeTopic,
    scope: ChangeScope,
    watch: Watch,
    ready: () => void,
  ): Promise<void> {
    const { signal } = watch.stop;
    let known: string | undefined;
    let failing = false;
    while (!signal.aborted) {
      try {
        const mark = await topics[topic].mark(scope);
        // Also after a failure: what happened meanwhile is not known.
        const changed = known !== undefined && (failing || mark !== known);
        known = mark;
        failing = false;
        if (changed) {
          for (const listener of watch.listeners) {
            listener.pending.add(topic);
            listener.wake();
          }
        }
      } catch (error) {
        if (!failing)
          logger.warn({ topic, err: errorMessage(error) }, "changes cannot be watched; trying again");
        failing = true;
        known ??= "";
      }
      ready();
      await delay(failing ? pollMs * 5 : pollMs, undefined, { signal, ref: false }).catch(() => undefined);
    }
    ready();
  }
}

function newListener(ending: AbortSignal) {
  let woken = Promise.withResolvers<void>();
  const listener: Listener = { pending: new Set(), wake: () => woken.resolve() };
  ending.addEventListener("abort", () => woken.resolve(), { once: true });
  return {
    listener,
    async next() {
      if (listener.pending.size === 0 && !ending.aborted) {
        woken = Promise.withResolvers<void>();
        await woken.promise;
      }
    },
  };
}

function tooMany(): AppError {
  return new AppError({
    code: "console.too_many_listeners",
    kind: "rate_limited",
    message: "Too many pages listen for changes. Close some, or try again in a moment.",
    headers: { "retry-after": "10" },
  });
}
