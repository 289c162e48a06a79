import { Kysely, PostgresDialect, type PostgresPool, type PostgresPoolClient } from "kysely";
import pg from "pg";
import type { Logger } from "../../logger.ts";
import { within } from "../../within.ts";
import { copyIn } from "../copy/copy-in.ts";
import type { Database, Sql, Statement, Unlisten } from "../database.ts";
import { describeDatabase, isConnectionError, mapDatabaseError, sqlState } from "../database-errors.ts";
import { raw } from "../raw.ts";
import type { Tables } from "../tables.ts";
import { ConnectionWatch } from "./connection-watch.ts";
import { DiskWatch } from "./disk-watch.ts";
import { clientKeepAlive, serverKeepAlive } from "./keep-alive.ts";
import { NotificationListener } from "./notification-listener.ts";
import { typeParsers } from "./type-parsers.ts";

export type OpenDatabaseOptions = {
  url: string;
  poolSize: number;
  logger: Logger;
  applicationName?: string;
  /** How long a caller waits for a connection: a new one, or a free one of the pool. */
  connectTimeoutMs?: number;
  /** How long an unused connection stays open. */
  idleTimeoutMs?: number;
  /** How long an answer may be missing before the server is asked what the session is doing. */
  answerMs?: number;
};

// Bounded, because health checks ask: a cut network may leave a connection that never answers.
export const pingStatement: Statement & { query_timeout: number } = {
  name: "ping_v1",
  text: "select 1",
  query_timeout: 5_000,
};
/** More than the free space of the pages a table has anyway. */
const fillerText =
  "create temporary table treadle_disk_probe on commit drop as select md5(random()::text) as filler from generate_series(1, 20000)";
/** Dates and partition bounds must not depend on the server's time zone. */
const settingsText = `select pg_backend_pid() as pid, set_config('TimeZone', 'UTC', false), ${serverKeepAlive}`;
export const notifyStatement: Statement = { name: "notify_v1", text: "select pg_notify($1, $2)" };

/** Opens no connection yet; the first statement does. Reconnects when the database returns. */
export function openDatabase(options: OpenDatabaseOptions): Database {
  return new PostgresDatabase(options);
}

class PostgresDatabase implements Database {
  readonly sql: Sql;
  readonly #where: string;
  readonly #pool: pg.Pool;
  readonly #watch: ConnectionWatch;
  readonly #disk = new DiskWatch();
  readonly #listener: NotificationListener;
  #closing: Promise<void> | undefined;

  constructor(options: OpenDatabaseOptions) {
    const { logger } = options;
    const connection: pg.ClientConfig = {
      connectionString: options.url,
      application_name: options.applicationName ?? "treadle",
      ...clientKeepAlive,
      types: typeParsers,
    };
    this.#where = describeDatabase(options.url);
    this.#watch = new ConnectionWatch({ connection, logger, answerMs: options.answerMs ?? 5_000 });
    this.#pool = watchedPool(connection, options, this.#watch);
    this.#pool.on("error", (error) => {
      const level = this.#closing === undefined ? "warn" : "debug";
      logger[level]({ reason: error.message }, "idle database connection lost");
    });
    const pool = mappedPool(
      () => this.#connect(),
      this.#watch,
      (error) => this.#mapError(error),
    );
    this.sql = new Kysely<Tables>({ dialect: new PostgresDialect({ pool }) });
    this.#listener = new NotificationListener({ connection, where: this.#where, logger });
  }

  transaction<T>(work: (tx: Sql) => Promise<T>): Promise<T> {
    return this.sql.transaction().execute(work);
  }

  async query<Row extends object>(statement: Statement, values: readonly unknown[]): Promise<Row[]> {
    const run = () =>
      this.#onConnection(async (client) => {
        // The values are copied by the driver, which only asks for a mutable array.
        const result = await client.query<Row>({ ...statement, values: values as unknown[] });
        return result.rows;
      });
    // Nothing of it was done, and its connection is gone; each of the others may have the old plan, too.
    for (let left = this.#pool.totalCount; ; left -= 1) {
      try {
        return await run();
      } catch (error) {
        if (left <= 0 || !isPlanChanged(error)) throw error;
      }
    }
  }

  async background<Row extends object>(statement: Statement, values: readonly unknown[]): Promise<Row[]> {
    try {
      const rows = await this.#listener.query<Row>(statement, values);
      if (rows) return rows;
    } catch (error) {
      if (sqlState(error) !== undefined && !isConnectionError(error)) throw this.#mapError(error);
    }
    return this.query<Row>(statement, values);
  }

  copyIn(target: string, data: Buffer): Promise<number> {
    return this.#onConnection((client) => copyIn(client, target, data));
  }

  listen(channel: string, onMessage: (payload: string) => void, onGap?: () => void): Promise<Unlisten> {
    return this.#listener.listen(channel, onMessage, onGap);
  }

  async notify(channel: string, payload: string): Promise<void> {
    await this.query(notifyStatement, [channel, payload]);
  }

  async ping(): Promise<void> {
    await this.query(pingStatement, []);
    await this.#disk.check(() => this.transaction((tx) => raw.raw(fillerText).execute(tx)));
  }

  poolStats(): { total: number; idle: number; waiting: number } {
    const { totalCount: total, idleCount: idle, waitingCount: waiting } = this.#pool;
    return { total, idle, waiting };
  }

  close(): Promise<void> {
    this.#closing ??= this.#listener.close().then(() => {
      this.#watch.stop();
      // It waits for connections in use, which may never answer.
      return within(1_000, this.#pool.end());
    });
    return this.#closing;
  }

  #mapError(error: unknown, connecting = false): unknown {
    return this.#disk.note(mapDatabaseError(error, this.#where, connecting));
  }

  async #connect(): Promise<pg.PoolClient> {
    this.#listener.noteUse();
    try {
      return await this.#pool.connect();
    } catch (error) {
      throw this.#mapError(error, true);
    }
  }

  async #onConnection<T>(work: (client: pg.PoolClient) => Promise<T>): Promise<T> {
    const client = await this.#connect();
    let broken = false;
    try {
      return await this.#watch.answered(client, work(client));
    } catch (error) {
      // A plan prepared before a migration changed its tables fails for ever on its connection.
      broken = isConnectionError(error) || isPlanChanged(error);
      throw this.#mapError(error);
    } finally {
      client.release(broken);
    }
  }
}

/** A migration of a newer version changed a table under a statement that was prepared before; nothing else of ours ends so. */
function isPlanChanged(error: unknown): boolean {
  return sqlState(error) === "0A000";
}

function watchedPool(
  connection: pg.ClientConfig,
  options: OpenDatabaseOptions,
  watch: ConnectionWatch,
): pg.Pool {
  const pool = new pg.Pool({
    ...connection,
    max: options.poolSize,
    connectionTimeoutMillis: options.connectTimeoutMs ?? 10_000,
    // Recurring work of an idle process does not use the pool, so all its connections are closed then.
    idleTimeoutMillis: options.idleTimeoutMs ?? 20_000,
    // The pool awaits this.
    onConnect: async (client) => {
      const { rows } = await watch.answered(client, client.query<{ pid: number }>(settingsText));
      watch.know(client, rows[0]!.pid);
    },
  });
  // Without a listener of its own, a connection lost while checked out would end the process.
  pool.on("connect", (client) => {
    client.on("error", (error) => options.logger.debug({ err: error }, "database connection lost"));
  });
  return pool;
}

type MapError = (error: unknown) => unknown;

/** The pool as Kysely sees it, with errors mapped to ours. */
function mappedPool(
  connect: () => Promise<pg.PoolClient>,
  watch: ConnectionWatch,
  mapError: MapError,
): PostgresPool {
  const wrapped = new WeakMap<pg.PoolClient, PostgresPoolClient>();
  return {
    options: {},
    async connect() {
      const client = await connect();
      let view = wrapped.get(client);
      if (view === undefined) {
        view = mappedClient(client, watch, mapError);
        wrapped.set(client, view);
      }
      return view;
    },
    end: async () => {},
  };
}

function mappedClient(client: pg.PoolClient, watch: ConnectionWatch, mapError: MapError): PostgresPoolClient {
  const query = async (text: string, values: readonly unknown[]): Promise<pg.QueryResult> => {
    try {
      return await watch.answered(client, client.query(text, values as unknown[]));
    } catch (error) {
      throw mapError(error);
    }
  };
  return {
    // Kysely's other overload is for cursors, which need a configured cursor class; there is none.
    query: query as unknown as PostgresPoolClient["query"],
    release: (destroy) => client.release(destroy),
  };
}
