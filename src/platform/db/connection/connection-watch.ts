import pg from "pg";
import type { Logger } from "../../logger.ts";
import { sqlState } from "../database-errors.ts";

type ConnectionWatchOptions = {
  connection: pg.ClientConfig;
  logger: Logger;
  /** How long an answer may be missing before the server is asked whether the session still lives. */
  answerMs: number;
};

const lookMs = 1_000;
const probeMs = 4_000;

/**
 * Which of the sessions are at work, and the end of those that are not: they hold locks for a client that will never
 * speak to them again. A session that has just become idle may have its answer on the way.
 */
const probeText = `with seen as (
    select pid, coalesce(state in ('active', 'fastpath function call', 'disabled')
      or state_change > clock_timestamp() - interval '1 second', true) as alive
    from pg_stat_activity where pid = any($1::int[])
  )
  select pid, alive, case when alive then null else pg_terminate_backend(pid) end as ended from seen`;

/**
 * Closes connections that wait for an answer the server is not working on. A time limit for statements could not
 * distinguish a long statement from a network that drops everything: TCP acknowledges and the answer never comes. So
 * the server itself is asked, on a separate connection, what the session is doing. Costs nothing while answers come.
 */
export class ConnectionWatch {
  readonly #options: ConnectionWatchOptions;
  /** Connections that owe an answer, and since when. */
  readonly #owing = new Map<pg.ClientBase, number>();
  readonly #pids = new WeakMap<pg.ClientBase, number>();
  #timer: NodeJS.Timeout | undefined;
  #probing = false;

  constructor(options: ConnectionWatchOptions) {
    this.#options = options;
  }

  /** The session behind a new connection, as the server numbers it. */
  know(client: pg.ClientBase, pid: number): void {
    this.#pids.set(client, pid);
  }

  async answered<T>(client: pg.ClientBase, answer: Promise<T>): Promise<T> {
    this.#owing.set(client, performance.now());
    if (this.#timer === undefined) {
      this.#timer = setInterval(() => this.#look(), lookMs);
      this.#timer.unref();
    }
    try {
      return await answer;
    } finally {
      this.#owing.delete(client);
    }
  }

  stop(): void {
    clearInterval(this.#timer);
    this.#timer = undefined;
    this.#owing.clear();
  }

  #look(): void {
    if (this.#owing.size === 0) {
      clearInterval(this.#timer);
      this.#timer = undefined;
    } else if (!this.#probing && this.#late().length > 0) {
      this.#probing = true;
      void this.#probe().finally(() => {
        this.#probing = false;
      });
    }
  }

  #late(): pg.ClientBase[] {
    const before = performance.now() - this.#options.answerMs;
    return [...this.#owing].filter(([, since]) => since < before).map(([client]) => client);
  }

  async #probe(): Promise<void> {
    const { connection, logger } = this.#options;
    const probe = new pg.Client({
      ...connection,
      connectionTimeoutMillis: probeMs,
      query_timeout: probeMs,
    });
    probe.on("error", (error) => logger.debug({ err: error }, "the probe of the database was cut off"));
    try {
      await probe.connect();
      // Only now: answers that lay unread while this process was held up have been read meanwhile.
      const late = this.#late();
      const pids = late.map((client) => this.#pids.get(client) ?? 0);
      const { rows } = await probe.query<{ pid: number; alive: boolean }>(probeText, [pids]);
      const alive = new Set(rows.filter((row) => row.alive).map((row) => row.pid));
      for (const client of late) if (!alive.has(this.#pids.get(client) ?? 0)) this.#giveUp(client);
    } catch (error) {
      // A server that answers, though with a refusal, may well be at work for the others.
      if (sqlState(error) === undefined) for (const client of this.#late()) this.#giveUp(client);
    } finally {
      cutConnection(probe);
    }
  }

  #giveUp(client: pg.ClientBase): void {
    if (!this.#owing.delete(client)) return;
    this.#options.logger.warn(
      { answerMs: this.#options.answerMs },
      "a database connection does not respond; it is closed",
    );
    cutConnection(client, new Error("Connection terminated: the database did not respond on it"));
  }
}

/** Without a goodbye, for which the driver would wait until the last answer has come. */
export function cutConnection(client: pg.ClientBase, error?: Error): void {
  const { connection } = client as unknown as { connection: { stream: { destroy(error?: Error): void } } };
  connection.stream.destroy(error);
}
