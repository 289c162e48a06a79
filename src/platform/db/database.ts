import type { Kysely } from "kysely";
import type { Tables } from "./tables.ts";

/**
 * A handle for ordinary SQL: the pool, or a transaction a service opened. Stores take one as their
 * first argument and never open transactions themselves.
 */
export type Sql = Kysely<Tables>;

/**
 * A hot statement: prepared once per connection under its name. The name must change with the text.
 * One that reads a batch has its first array as `(select $1::uuid[])`: PostgreSQL would see how short the others are,
 * take a plan for so few rows for the better one, and make it anew at each execution, for longer than it runs.
 */
export type Statement = { name: string; text: string };

export type Unlisten = () => Promise<void>;

export type Database = {
  sql: Sql;
  transaction<T>(work: (tx: Sql) => Promise<T>): Promise<T>;
  /** Runs a prepared statement on the pool and returns its rows. */
  query<Row extends object>(statement: Statement, values: readonly unknown[]): Promise<Row[]>;
  /**
   * For recurring statements of an idle process: they use the connection for notifications, which exists anyway, so
   * that an idle process holds no other. One runs at a time, so nothing slow.
   */
  background<Row extends object>(statement: Statement, values: readonly unknown[]): Promise<Row[]>;
  /** Writes rows as binary COPY into a table and its columns, all or none; answers how many. */
  copyIn(target: string, data: Buffer): Promise<number>;
  /**
   * Subscribes to NOTIFY on one dedicated connection, which reconnects automatically. `onGap` runs after a
   * reconnection: notifications sent meanwhile are lost, so the subscriber must look itself.
   */
  listen(channel: string, onMessage: (payload: string) => void, onGap?: () => void): Promise<Unlisten>;
  notify(channel: string, payload: string): Promise<void>;
  /** Rejects when the database does not answer. */
  ping(): Promise<void>;
  poolStats(): { total: number; idle: number; waiting: number };
  close(): Promise<void>;
};
