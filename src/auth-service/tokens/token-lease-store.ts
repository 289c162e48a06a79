import type { Database, Sql, Statement } from "../../platform/db/database.ts";
import { raw } from "../../platform/db/raw.ts";
import type { Lifetime } from "./token.ts";

/** Notifies other processes that a token's lease has ended. */
export const tokenChannel = "treadle_auth_token";

export const claimStatement: Statement = {
  name: "auth_token_claim_v2",
  // Database time, because processes on several machines compare it.
  text: `update auth_tokens set lease_token = $2, lease_expires_at = now() + $3 * interval '1 millisecond'
    where id = $1 and ($4::int is null or version = $4) and ($5::int is null or refresh_failures = $5)
      and (lease_expires_at is null or lease_expires_at < now())
    returning id`,
};

/** How far a token had come when it was read. */
export type SeenToken = { version: number; refresh_failures: number };

/** Takes the lease of the token, if it is free and the token has not changed since it was `seen`. */
export async function claimToken(
  database: Database,
  id: string,
  lease: { leaseToken: string; leaseMs: number; seen: SeenToken | null },
): Promise<boolean> {
  const { leaseToken, leaseMs, seen } = lease;
  const values = [id, leaseToken, leaseMs, seen?.version ?? null, seen?.refresh_failures ?? null];
  return (await database.query(claimStatement, values)).length > 0;
}

export type TokenState = SeenToken & { leased: boolean };

export const stateStatement: Statement = {
  name: "auth_token_state_v1",
  text: `select version, refresh_failures, coalesce(lease_expires_at >= now(), false) as leased from auth_tokens where id = $1`,
};

export async function readTokenState(database: Database, id: string): Promise<TokenState | undefined> {
  const [state] = await database.query<TokenState>(stateStatement, [id]);
  return state;
}

export type Refreshed = {
  accessTokenSealed: string;
  /** Null: the provider kept the old one valid. */
  refreshTokenSealed: string | null;
  scopes: string[] | null;
  lifetime: Lifetime;
};

/** False when the lease was lost meanwhile: then the new holder's result counts. */
export async function saveRefreshed(
  sql: Sql,
  id: string,
  leaseToken: string,
  fresh: Refreshed,
  now: Date,
): Promise<boolean> {
  const { lifetime: l } = fresh;
  const { rows } = await raw`update auth_tokens set access_token_sealed = ${fresh.accessTokenSealed},
      refresh_token_sealed = coalesce(${fresh.refreshTokenSealed}, refresh_token_sealed),
      scopes = coalesce(${fresh.scopes}::text[], scopes), expires_at = ${l.expiresAt}, stale_at = ${l.staleAt},
      refresh_at = ${l.refreshAt}, refresh_failures = 0, version = version + 1, lease_token = null,
      lease_expires_at = null, updated_at = ${now}
    where id = ${id} and lease_token = ${leaseToken} returning id`.execute(sql);
  return rows.length > 0;
}

export async function saveDead(sql: Sql, id: string, leaseToken: string, now: Date): Promise<boolean> {
  const { rows } = await raw`update auth_tokens set status = 'dead', refresh_at = null, version = version + 1,
      lease_token = null, lease_expires_at = null, updated_at = ${now}
    where id = ${id} and lease_token = ${leaseToken} returning id`.execute(sql);
  return rows.length > 0;
}

/** Gives the token back as it is, to be tried again later. Returns how often in a row that happened. */
export async function saveRefreshFailure(
  sql: Sql,
  id: string,
  leaseToken: string,
  retryAt: Date,
): Promise<number | undefined> {
  const { rows } = await raw<{ refresh_failures: number }>`update auth_tokens
    set refresh_failures = refresh_failures + 1, refresh_at = ${retryAt}, lease_token = null, lease_expires_at = null
    where id = ${id} and lease_token = ${leaseToken} returning refresh_failures`.execute(sql);
  return rows[0]?.refresh_failures;
}

export async function releaseToken(sql: Sql, id: string, leaseToken: string): Promise<void> {
  await raw`update auth_tokens set lease_token = null, lease_expires_at = null
    where id = ${id} and lease_token = ${leaseToken}`.execute(sql);
}

export async function deleteToken(sql: Sql, id: string, leaseToken: string): Promise<boolean> {
  const { rows } = await raw`delete from auth_tokens where id = ${id} and lease_token = ${leaseToken}
    returning id`.execute(sql);
  return rows.length > 0;
}

export async function announceToken(sql: Sql, id: string): Promise<void> {
  await raw`select pg_notify(${tokenChannel}, ${id})`.execute(sql);
}

export type DueToken = { id: string; provider: string };

export const dueStatement: Statement = {
  name: "auth_tokens_due_v1",
  text: `select id, provider from auth_tokens
    where status = 'active' and refresh_at is not null and refresh_at <= $1 and provider <> all($2::uuid[])
      and (lease_expires_at is null or lease_expires_at < now())
    order by refresh_at limit $3`,
};

export function findDueTokens(
  database: Database,
  now: Date,
  filter: { exceptProviders: string[]; limit: number },
): Promise<DueToken[]> {
  return database.query<DueToken>(dueStatement, [now, filter.exceptProviders, filter.limit]);
}
