import pg from "pg";
import type { Logger } from "../../logger.ts";
import { type MonotonicClock, monotonicClock } from "../../monotonic-clock.ts";
import type { Statement, Unlisten } from "../database.ts";
import { mapDatabaseError, sqlState } from "../database-errors.ts";
import { cutConnection } from "./connection-watch.ts";

type Subscriber = { onMessage: (payload: string) => void; onGap: (() => void) | undefined };

type ListenerOptions = {
  connection: pg.ClientConfig;
  where: string;
  logger: Logger;
  clock?: MonotonicClock;
};

const firstDelayMs = 50;
const maxDelayMs = 5_000;
const answerMs = 5_000;
/** How often an idle connection is asked whether it still lives; TCP alone may not notice for hours. */
const heartbeatMs = 6_000;
/**
 * The same while this process sends no statements: what it does in answer to a notification shows only once it is used
 * again. What recurs in an idle process goes over this connection, and asks the same question.
 */
const restingHeartbeatMs = 60_000;
/** How long after the last statement. */
const usedMs = 20_000;
/** A half-open connection never acknowledges a goodbye. */
const goodbyeMs = 500;

/** One connection for all NOTIFY channels of this process, opened by the first subscriber. */
export class NotificationListener {
  readonly #options: ListenerOptions;
  readonly #subscribers = new Map<string, Set<Subscriber>>();
  #connected: Promise<pg.Client> | undefined;
  #reconnectTimer: NodeJS.Timeout | undefined;
  #callOffHeartbeat: (() => void) | undefined;
  #lastTurn: Promise<unknown> = Promise.resolve();
  #live: pg.Client | undefined;
  readonly #clock: MonotonicClock;
  #answeredAt: number;
  /** When this process last sent a statement on another connection. */
  #usedAt: number;
  #isResting = false;
  #failures = 0;
  #closed = false;

  constructor(options: ListenerOptions) {
    this.#options = options;
    this.#clock = options.clock ?? monotonicClock;
    this.#usedAt = this.#clock.now();
    this.#answeredAt = this.#usedAt;
  }

  /** This process sends statements, on other connections: it counts on hearing what they notify of. */
  noteUse(): void {
    this.#usedAt = this.#clock.now();
    if (this.#isResting && this.#live) this.#beatLater(this.#live);
  }

  async listen(channel: string, onMessage: (payload: string) => void, onGap?: () => void): Promise<Unlisten> {
    if (this.#closed) throw new Error(`Cannot listen on "${channel}": the database handle is closed.`);
    const subscriber: Subscriber = { onMessage, onGap };
    const known = this.#subscribers.get(channel) ?? new Set();
    this.#subscribers.set(channel, known.add(subscriber));
    try {
      const client = await this.#connection();
      await this.#inTurn(() => client.query(`listen ${pg.escapeIdentifier(channel)}`));
    } catch (error) {
      this.#remove(channel, subscriber);
      throw mapDatabaseError(error, this.#options.where, true);
    }
    return () => this.#unlisten(channel, subscriber);
  }

  /** On this connection, where there is one; undefined: there is none just now. Not prepared: it lives for very long. */
  async query<Row extends object>(
    statement: Statement,
    values: readonly unknown[],
  ): Promise<Row[] | undefined> {
    const client = this.#live;
    if (!client || this.#closed) return undefined;
    try {
      const answer = await this.#inTurn(() => client.query<Row>(statement.text, values as unknown[]));
      this.#answeredAt = this.#clock.now();
      return (answer as pg.QueryResult<Row>).rows;
    } catch (error) {
      // No answer of the server at all.
      if (sqlState(error) === undefined) this.#giveUp(client, error as Error);
      throw error;
    }
  }

  async close(): Promise<void> {
    this.#closed = true;
    this.#live = undefined;
    this.#subscribers.clear();
    clearTimeout(this.#reconnectTimer);
    this.#callOffHeartbeat?.();
    const client = await this.#connected?.catch(() => undefined);
    this.#connected = undefined;
    if (!client) return;
    const patience = setTimeout(() => cutConnection(client), goodbyeMs);
    await client.end().catch(() => undefined);
    clearTimeout(patience);
  }

  #connection(): Promise<pg.Client> {
    this.#connected ??= this.#connect().catch((error: unknown) => {
      this.#connected = undefined;
      throw error;
    });
    return this.#connected;
  }

  async #connect(): Promise<pg.Client> {
    const client = new pg.Client({
      ...this.#options.connection,
      connectionTimeoutMillis: answerMs,
      query_timeout: answerMs,
    });
    client.on("error", (error) => this.#lost(client, error));
    client.on("end", () => this.#lost(client, new Error("the server closed the connection")));
    client.on("notification", (message) => this.#deliver(message.channel, message.payload ?? ""));
    try {
      await client.connect();
      for (const channel of [...this.#subscribers.keys()]) {
        await client.query(`listen ${pg.escapeIdentifier(channel)}`);
      }
    } catch (error) {
      cutConnection(client);
      throw error;
    }
    this.#answeredAt = this.#clock.now();
    this.#beatLater(client);
    this.#live = client;
    return client;
  }

  /** A connection takes one statement at a time, and LISTEN and UNLISTEN must keep their order. */
  #inTurn(work: () => Promise<unknown>): Promise<unknown> {
    const turn = this.#lastTurn.then(work);
    this.#lastTurn = turn.catch(() => undefined);
    return turn;
  }

  #beatLater(client: pg.Client): void {
    this.#callOffHeartbeat?.();
    this.#isResting = this.#clock.now() - this.#usedAt >= usedMs;
    const waitMs = this.#isResting ? restingHeartbeatMs : heartbeatMs;
    this.#callOffHeartbeat = this.#clock.after(waitMs, () => this.#heartbeat(client, waitMs));
  }

  #heartbeat(client: pg.Client, waitedMs: number): void {
    this.#beatLater(client);
    // It has answered within this interval.
    if (this.#clock.now() - this.#answeredAt < waitedMs) return;
    this.#inTurn(() => client.query("select 1")).catch((error: Error) => this.#giveUp(client, error));
  }

  #giveUp(client: pg.Client, error: Error): void {
    this.#lost(client, error);
    cutConnection(client);
  }

  #lost(client: pg.Client, error: Error): void {
    client.removeAllListeners("notification");
    if (this.#live === client) this.#live = undefined;
    void this.#connected?.then(
      (current) => {
        if (current !== client || this.#closed) return;
        this.#connected = undefined;
        this.#options.logger.warn(
          { reason: error.message },
          "database notifications interrupted, reconnecting",
        );
        this.#scheduleReconnect();
      },
      () => undefined,
    );
  }

  #scheduleReconnect(): void {
    this.#callOffHeartbeat?.();
    clearTimeout(this.#reconnectTimer);
    if (this.#closed || this.#subscribers.size === 0) return;
    const delayMs = Math.min(maxDelayMs, firstDelayMs * 2 ** this.#failures);
    this.#reconnectTimer = setTimeout(() => void this.#reconnect(), delayMs);
  }

  async #reconnect(): Promise<void> {
    const missed = [...this.#subscribers.values()].flatMap((subscribers) => [...subscribers]);
    try {
      await this.#connection();
    } catch (error) {
      this.#failures += 1;
      this.#options.logger.debug({ err: error }, "database notifications still interrupted");
      this.#scheduleReconnect();
      return;
    }
    this.#failures = 0;
    this.#options.logger.info("database notifications restored");
    for (const subscriber of missed) this.#guard(() => subscriber.onGap?.());
  }

  #deliver(channel: string, payload: string): void {
    for (const subscriber of [...(this.#subscribers.get(channel) ?? [])]) {
      this.#guard(() => subscriber.onMessage(payload));
    }
  }

  /** One subscriber's failure must not keep the message from the others. */
  #guard(call: () => void): void {
    try {
      call();
    } catch (error) {
      this.#options.logger.error({ err: error }, "a notification subscriber failed");
    }
  }

  async #unlisten(channel: string, subscriber: Subscriber): Promise<void> {
    if (!this.#remove(channel, subscriber) || this.#closed || this.#connected === undefined) return;
    try {
      const client = await this.#connected;
      await this.#inTurn(async () => {
        // Someone may have subscribed again before it was our turn.
        if (!this.#subscribers.has(channel)) await client.query(`unlisten ${pg.escapeIdentifier(channel)}`);
      });
    } catch (error) {
      this.#options.logger.debug({ err: error, channel }, "unlisten on a lost connection");
    }
  }

  /** True when this was the channel's last subscriber. */
  #remove(channel: string, subscriber: Subscriber): boolean {
    const subscribers = this.#subscribers.get(channel);
    if (!subscribers?.delete(subscriber) || subscribers.size > 0) return false;
    this.#subscribers.delete(channel);
    return true;
  }
}
