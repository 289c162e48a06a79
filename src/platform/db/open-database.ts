import { Kysely, PostgresDialect, type PostgresPool, type PostgresPoolClient } from "kysely";
import pg from "pg";
import type { Logger } from "../logger.ts";
import { copyIn } from "./copy-in.ts";
import type { Database, Sql, Statement } from "./database.ts";
import { describeDatabase, isConnectionError, mapDatabaseError, sqlState } from "./database-errors.ts";
import { NotificationListener } from "./notification-listener.ts";
import type { Tables } from "./tables.ts";
import { typeParsers } from "./type-parsers.ts";

export type OpenDatabaseOptions = {
  url: string;
  poolSize: number;
  logger: Logger;
  applicationName?: string;
  /** How long a caller waits for a connection: a new one, or a free one of the pool. */
  connectTimeoutMs?: number;
};

// Bounded, because health checks ask: a cut network may leave a connection that never answers.
const pingStatement: Statement & { query_timeout: number } = {
  name: "ping_v1",
  text: "select 1",
  query_timeout: 5_000,
};
const notifyStatement: Statement = { name: "notify_v1", text: "select pg_notify($1, $2)" };

/** Opens no connection yet; the first statement does. Heals by itself when the database returns. */
export function openDatabase(options: OpenDatabaseOptions): Database {
  const { logger } = options;
  const where = describeDatabase(options.url);
  const connection: pg.ClientConfig = {
    connectionString: options.url,
    application_name: options.applicationName ?? "treadle",
    keepAlive: true,
    types: typeParsers,
  };
  const pool = new pg.Pool({
    ...connection,
    max: options.poolSize,
    connectionTimeoutMillis: options.connectTimeoutMs ?? 10_000,
    idleTimeoutMillis: 60_000,
    // Dates and partition bounds must not depend on where the server happens to stand. The pool awaits this.
    onConnect: async (client) => {
      await client.query("set time zone 'UTC'");
    },
  });
  // Without a listener of its own, a connection lost while checked out would end the process.
  pool.on("connect", (client) => {
    client.on("error", (error) => logger.debug({ err: error }, "database connection lost"));
  });
  let closing: Promise<void> | undefined;
  pool.on("error", (error) => {
    const level = closing === undefined ? "warn" : "debug";
    logger[level]({ reason: error.message }, "idle database connection lost");
  });

  const connect = async (): Promise<pg.PoolClient> => {
    try {
      return await pool.connect();
    } catch (error) {
      throw mapDatabaseError(error, where, true);
    }
  };
  const sql: Sql = new Kysely<Tables>({ dialect: new PostgresDialect({ pool: mappedPool(connect, where) }) });
  const listener = new NotificationListener({ connection, where, logger });

  const onConnection = async <T>(work: (client: pg.PoolClient) => Promise<T>): Promise<T> => {
    const client = await connect();
    let broken = false;
    try {
      return await work(client);
    } catch (error) {
      // A plan prepared before a migration changed its tables fails for ever on its connection.
      broken = isConnectionError(error) || sqlState(error) === "0A000";
      throw mapDatabaseError(error, where);
    } finally {
      client.release(broken);
    }
  };

  const query = <Row extends object>(statement: Statement, values: readonly unknown[]): Promise<Row[]> =>
    onConnection(async (client) => {
      // The values are copied by the driver, which only asks for a mutable array.
      const result = await client.query<Row>({ ...statement, values: values as unknown[] });
      return result.rows;
    });

  return {
    sql,
    query,
    copyIn: (target, data) => onConnection((client) => copyIn(client, target, data)),
    transaction: (work) => sql.transaction().execute(work),
    listen: (channel, onMessage, onGap) => listener.listen(channel, onMessage, onGap),
    notify: async (channel, payload) => {
      await query(notifyStatement, [channel, payload]);
    },
    ping: async () => {
      await query(pingStatement, []);
    },
    poolStats: () => ({ total: pool.totalCount, idle: pool.idleCount, waiting: pool.waitingCount }),
    close: () => {
      closing ??= listener.close().then(() => pool.end());
      return closing;
    },
  };
}

/** The pool as Kysely sees it, with connection errors told in our words. */
function mappedPool(connect: () => Promise<pg.PoolClient>, where: string): PostgresPool {
  const wrapped = new WeakMap<pg.PoolClient, PostgresPoolClient>();
  return {
    options: {},
    async connect() {
      const client = await connect();
      let view = wrapped.get(client);
      if (view === undefined) {
        view = mappedClient(client, where);
        wrapped.set(client, view);
      }
      return view;
    },
    end: async () => {},
  };
}

function mappedClient(client: pg.PoolClient, where: string): PostgresPoolClient {
  const query = async (text: string, values: readonly unknown[]): Promise<pg.QueryResult> => {
    try {
      return await client.query(text, values as unknown[]);
    } catch (error) {
      throw mapDatabaseError(error, where);
    }
  };
  return {
    // Kysely's other overload is for cursors, which need a configured cursor class; there is none.
    query: query as unknown as PostgresPoolClient["query"],
    release: (destroy) => client.release(destroy),
  };
}
