import { AppError } from "../errors.ts";
import { withAdvisoryLock } from "./advisory-lock.ts";
import type { Sql } from "./database.ts";
import { sqlState } from "./database-errors.ts";
import { raw } from "./raw.ts";

/** One name for a database and the role that owns it. */
export type OwnDatabase = { name: string; password: string };

const namePattern = /^[a-z][a-z0-9_]{0,62}$/;

/**
 * One at a time for each of them, in all processes: roles and databases are made outside of transactions, and two who
 * change one at once fail, or leave half of it.
 */
export function withOwnDatabaseLock<T>(
  sql: Sql,
  name: string,
  work: (connection: Sql) => Promise<T>,
): Promise<T> {
  return withAdvisoryLock(sql, `treadle.own_database ${name}`, work);
}

/**
 * A database only its own role may enter, on the server we use ourselves. Calling it again changes only the password.
 * Requires its lock.
 */
export async function createOwnDatabase(sql: Sql, { name, password }: OwnDatabase): Promise<void> {
  const quoted = identifier(name);
  const secret = `'${password.replaceAll("'", "''")}'`;
  const run = (text: string) => raw.raw(text).execute(sql);
  try {
    const role = await raw`select 1 from pg_roles where rolname = ${name}`.execute(sql);
    const verb = role.rows.length > 0 ? "alter" : "create";
    await run(`${verb} role ${quoted} login password ${secret}`);
    await limitOwnRole(sql, name);
    // To make a database for a role one must be a member of it.
    await run(`grant ${quoted} to current_user`);
    const known = await raw`select 1 from pg_database where datname = ${name}`.execute(sql);
    if (known.rows.length === 0) await run(`create database ${quoted} owner ${quoted}`);
    await run(`revoke all on database ${quoted} from public`);
  } catch (error) {
    if (sqlState(error) === "42501") throw notPermitted(error);
    throw error;
  }
}

/** Several servers of one deployment at once, each with a pool; far from what the server has for all. */
export const ownRoleConnections = 40;

/**
 * A role is created without rights; these are rights it may have been given since, and limits of its use of the server.
 */
export async function limitOwnRole(sql: Sql, name: string): Promise<void> {
  const quoted = identifier(name);
  const run = (text: string) => raw.raw(text).execute(sql);
  await run(`alter role ${quoted} nocreatedb nocreaterole connection limit ${ownRoleConnections}`);
  // Its migrations may take a while; an abandoned transaction delays vacuum in every database.
  await run(`alter role ${quoted} set statement_timeout = '30min'`);
  await run(`alter role ${quoted} set idle_in_transaction_session_timeout = '5min'`);
}

/** Ends the connections to it, too. Under its lock. */
export async function dropOwnDatabase(sql: Sql, name: string): Promise<void> {
  const quoted = identifier(name);
  await raw.raw(`drop database if exists ${quoted} with (force)`).execute(sql);
  await raw.raw(`drop role if exists ${quoted}`).execute(sql);
}

/** The address of that database, from the address of ours. */
export function ownDatabaseUrl(url: string, { name, password }: OwnDatabase): string {
  const own = new URL(url);
  own.username = name;
  own.password = password;
  own.pathname = `/${name}`;
  return own.href;
}

function identifier(name: string): string {
  if (!namePattern.test(name)) throw new Error(`${JSON.stringify(name)} is not a valid database name`);
  return `"${name}"`;
}

function notPermitted(cause: unknown): AppError {
  return new AppError({
    code: "database.not_permitted",
    kind: "unavailable",
    retryable: false,
    message:
      "The platform's database user may not create databases for deployments. Give it CREATEDB and CREATEROLE.",
    cause,
  });
}
