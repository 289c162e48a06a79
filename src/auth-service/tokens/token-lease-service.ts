import { randomUUID } from "node:crypto";
import type { Database } from "../../platform/db/database.ts";
import { KeyedNotifications } from "../../platform/work/keyed-notifications.ts";
import { tokenBusy } from "./token.ts";
import { claimToken, readTokenState, type SeenToken, tokenChannel } from "./token-lease-store.ts";

/** Longer than the longest exchange with a provider: two of them, one after the other, when a token is revoked. */
const leaseMs = 40_000;
const longestWaitMs = 45_000;
/** Should a notification get lost. */
const lookAgainMs = 500;

type TokenLeasesOptions = { database: Database };

/** One owner per token over all processes: a row in Postgres, notifications only to wait well. */
export class TokenLeases {
  readonly #options: TokenLeasesOptions;
  readonly #notifications: KeyedNotifications;

  constructor(options: TokenLeasesOptions) {
    this.#options = options;
    this.#notifications = new KeyedNotifications(options.database, tokenChannel);
  }

  start(): Promise<void> {
    return this.#notifications.start();
  }

  stop(): Promise<void> {
    return this.#notifications.stop();
  }

  /**
   * The lease, or null when the token was refreshed, or failed to be, since it was `seen`: what one caller found
   * out counts for all who waited, so a provider that is down is not asked by each of them in turn.
   */
  claimSeen(id: string, seen: SeenToken): Promise<string | null> {
    return this.#acquire(id, seen);
  }

  /** The lease, in any state of the token; null when the token is gone. Waits for the current holder. */
  claim(id: string): Promise<string | null> {
    return this.#acquire(id, null);
  }

  async #acquire(id: string, seen: SeenToken | null): Promise<string | null> {
    const { database } = this.#options;
    const deadline = performance.now() + longestWaitMs;
    const leaseToken = randomUUID();
    for (;;) {
      if (await claimToken(database, id, { leaseToken, leaseMs, seen })) return leaseToken;
      const change = this.#notifications.listen(id);
      try {
        const state = await readTokenState(database, id);
        if (state === undefined || (seen !== null && !isSame(state, seen))) return null;
        if (performance.now() > deadline) throw tokenBusy(id);
        if (state.leased) await change.until(lookAgainMs);
      } finally {
        change.end();
      }
    }
  }
}

function isSame(now: SeenToken, seen: SeenToken): boolean {
  return now.version === seen.version && now.refresh_failures === seen.refresh_failures;
}
