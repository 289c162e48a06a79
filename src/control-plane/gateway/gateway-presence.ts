import type { Database, Unlisten } from "../../platform/db/database.ts";
import { newId } from "../../platform/ids.ts";
import type { Logger } from "../../platform/logger.ts";
import { type MonotonicClock, monotonicClock } from "../../platform/monotonic-clock.ts";
import { WakeLoop } from "../../platform/work/wake-loop.ts";
import {
  beatGateway,
  drainChannel,
  enterGateway,
  gatewayLeaseMs,
  type Held,
  leaveGateway,
} from "./gateway-store.ts";

export type GatewayPresenceOptions = {
  database: Database;
  logger: Logger;
  /** Active requests through this gateway. */
  held(): Held;
  /** The servers of these deployments may be about to stop: forget where they are served; null for all of them. */
  forget(deploymentIds: readonly string[] | null): void;
  clock?: MonotonicClock;
};

type Tenure = {
  id: string;
  /** Up to here it has heard what was drained, and forgotten it. */
  epoch: number;
  /** By this machine's clock, counted from before the query to the database: it ends here before it ends there. */
  until: number;
  beatAt: number;
  written: string;
};

const writeEveryMs = 1_000;
const beatEveryMs = 4_000;
/** A gateway without requests deletes its row, and costs nothing. */
const idleMs = 15_000;

/**
 * Registers this gateway among all that serve. While it is used, it records its active requests and acknowledges which
 * servers it sends no more requests to, so that a server is stopped only after that. What it has cached about servers
 * is valid only while it is registered.
 */
export class GatewayPresence {
  readonly #options: GatewayPresenceOptions;
  readonly #clock: MonotonicClock;
  readonly #loop: WakeLoop;
  #tenure: Tenure | undefined;
  #entering: Promise<void> | undefined;
  #usedAt = 0;
  /** A server was drained, or may have been while notifications were lost. */
  #isAsked = false;
  #unlisten: Unlisten | undefined;

  constructor(options: GatewayPresenceOptions) {
    this.#options = options;
    this.#clock = options.clock ?? monotonicClock;
    this.#loop = new WakeLoop({
      look: () => this.#look(),
      rules: { heartbeatMs: null, minWaitMs: 0, firstRetryMs: 250, maxRetryMs: writeEveryMs },
      onFailure: (error) =>
        options.logger.debug({ err: error }, "this gateway could not say what it holds, trying again"),
      clock: this.#clock,
    });
  }

  async start(): Promise<void> {
    // Without notifications the next beat finds the same.
    this.#unlisten = await this.#options.database.listen(
      drainChannel,
      () => this.#wakeWhilePresent(),
      () => this.#wakeWhilePresent(),
    );
  }

  async stop(): Promise<void> {
    await this.#unlisten?.();
    await this.#loop.stop();
    await this.#leave();
  }

  /** The row of this gateway; null while it has none. */
  get id(): string | null {
    return this.#tenure?.id ?? null;
  }

  /** Whether what it remembers may be used. To ask is to use it. */
  isPresent(): boolean {
    const now = this.#clock.now();
    this.#usedAt = now;
    return this.#tenure !== undefined && now < this.#tenure.until;
  }

  /** Before anything is looked up: what is drained from here on waits for this gateway. */
  enter(): Promise<void> {
    if (this.isPresent()) return Promise.resolve();
    this.#entering ??= this.#enter().finally(() => {
      this.#entering = undefined;
    });
    return this.#entering;
  }

  async #enter(): Promise<void> {
    const { database, held, forget } = this.#options;
    this.#tenure = undefined;
    const id = newId();
    const now = this.#clock.now();
    const holding = held();
    const epoch = await enterGateway(database, id, holding);
    const written = JSON.stringify(holding);
    // Not before: while the database is away, what it knew is all there is.
    forget(null);
    this.#tenure = { id, epoch, until: now + gatewayLeaseMs, beatAt: now, written };
    this.#loop.wake();
  }

  #wakeWhilePresent(): void {
    if (!this.#tenure) return;
    this.#isAsked = true;
    this.#loop.wake();
  }

  /** Answers when to look again. */
  async #look(): Promise<number | null> {
    const tenure = this.#tenure;
    if (!tenure) return null;
    const holding = this.#options.held();
    const text = JSON.stringify(holding);
    const now = this.#clock.now();
    if (text === "{}" && now - this.#usedAt >= idleMs) {
      await this.#leave();
      return null;
    }
    const isDue = this.#isAsked || text !== tenure.written || now - tenure.beatAt >= beatEveryMs;
    if (!isDue) return writeEveryMs;
    await this.#beat(tenure, holding);
    return writeEveryMs;
  }

  /**
   * Repeats until it knows every drained server. Active requests are counted after the cache was dropped, and written
   * together with the epoch.
   */
  async #beat(tenure: Tenure, first: Held): Promise<void> {
    const { database, held, forget } = this.#options;
    for (let holding = first; ; holding = held()) {
      const now = this.#clock.now();
      const { id, epoch } = tenure;
      const wasAsked = this.#isAsked;
      this.#isAsked = false;
      const heard = await beatGateway(database, { id, epoch, held: holding }).catch((error: unknown) => {
        this.#isAsked ||= wasAsked;
        throw error;
      });
      // Its lease ran out meanwhile and it has registered again.
      if (this.#tenure !== tenure) return;
      tenure.written = JSON.stringify(holding);
      tenure.beatAt = now;
      tenure.until = Math.max(tenure.until, now + gatewayLeaseMs);
      if (heard.epoch <= epoch) return;
      forget(heard.drained);
      tenure.epoch = heard.epoch;
    }
  }

  async #leave(): Promise<void> {
    const tenure = this.#tenure;
    if (!tenure) return;
    this.#tenure = undefined;
    this.#options.forget(null);
    await leaveGateway(this.#options.database, tenure.id);
  }
}
