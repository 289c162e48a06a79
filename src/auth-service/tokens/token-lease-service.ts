import { randomUUID } from "node:crypto";
import type { Database, Unlisten } from "../../platform/db/database.ts";
import { tokenBusy } from "./token.ts";
import { claimToken, readTokenState, tokenChannel } from "./token-lease-store.ts";

/** Longer than the longest exchange with a provider: two of them, one after the other, when a token is revoked. */
const leaseMs = 40_000;
const longestWaitMs = 45_000;
/** Should a notification get lost. */
const lookAgainMs = 500;

export type TokenLeases = {
  start(): Promise<void>;
  stop(): Promise<void>;
  /** The lease, or null when the token changed since `version` was read: then it must be read again. */
  claimVersion(id: string, version: number): Promise<string | null>;
  /** The lease whatever the version; null when the token is gone. Waits for who holds it. */
  claim(id: string): Promise<string | null>;
};

/** One owner per token over all processes: a row in Postgres, notifications only to wait well. */
export function createTokenLeases(options: { database: Database }): TokenLeases {
  const { database } = options;
  const waiting = new Map<string, Set<() => void>>();
  let unlisten: Unlisten | undefined;

  const wake = (id: string) => {
    for (const resolve of waiting.get(id) ?? []) resolve();
  };
  const wakeAll = () => {
    for (const id of waiting.keys()) wake(id);
  };

  /** Until something was said about the token, or it is time to look. */
  function news(id: string): Promise<void> {
    return new Promise((resolve) => {
      const all = waiting.get(id) ?? new Set();
      waiting.set(id, all);
      const done = () => {
        clearTimeout(timer);
        all.delete(done);
        if (all.size === 0) waiting.delete(id);
        resolve();
      };
      const timer = setTimeout(done, lookAgainMs);
      all.add(done);
    });
  }

  async function acquire(id: string, version: number | null): Promise<string | null> {
    const deadline = performance.now() + longestWaitMs;
    const leaseToken = randomUUID();
    for (;;) {
      if (await claimToken(database, id, { leaseToken, leaseMs, version })) return leaseToken;
      // Heard from before the look, so that what ends in between is not missed.
      const change = news(id);
      const state = await readTokenState(database, id);
      if (state === undefined || (version !== null && state.version !== version)) return null;
      if (performance.now() > deadline) throw tokenBusy(id);
      if (state.leased) await change;
    }
  }

  return {
    async start() {
      unlisten ??= await database.listen(tokenChannel, wake, wakeAll);
    },
    async stop() {
      await unlisten?.();
      unlisten = undefined;
      wakeAll();
    },
    claimVersion: (id, version) => acquire(id, version),
    claim: (id) => acquire(id, null),
  };
}
