import type { Database, Sql, Statement } from "../../platform/db/database.ts";
import { raw } from "../../platform/db/raw.ts";
import type { Lifetime, Token, TokenIdentity } from "./token.ts";

const columnNames = `t.id, t.workspace_id, t.provider, p.provider_id, t.owner_id, t.subject, t.agent_id, t.status,
  t.access_token_sealed, t.refresh_token_sealed, t.scopes, t.expires_at, t.stale_at, t.refresh_at, t.refresh_failures,
  t.account_key, t.provider_account_label, t.metadata, t.is_default, t.version, t.created_at, t.updated_at`;
const columns = raw.raw(columnNames);
const source = raw.raw("auth_tokens t join auth_providers p on p.id = t.provider");

export const candidatesStatement: Statement = {
  name: "auth_token_candidates_v2",
  // One round trip for the most frequent question of all. The provider is the workspace's own, else the platform's;
  // granted to this very agent comes first, then linked to it, then granted to no agent. A dead token keeps its place:
  // who used that account is asked to connect it again, and never handed another one.
  text: `with chosen as (
      select p.id from auth_providers p
        where p.provider_id = $2 and p.deleted_at is null
          and (p.workspace_id = $1 or p.workspace_id is null or p.organization_id = $6)
        order by (p.workspace_id is not distinct from $1) desc, (p.workspace_id is null) desc, p.created_at limit 1),
    found as (
      select id, false as linked from auth_tokens
        where workspace_id = $1 and owner_id = $3 and provider = (select id from chosen) and subject = $4
          and agent_id in ($5, '')
      union all
      select oauth_token_id, true from auth_connections where workspace_id = $1 and agent_id = $5 and $5 <> '')
    select ${columnNames}
    from (select id, bool_or(linked) as linked from found group by id) f
      join auth_tokens t on t.id = f.id and t.workspace_id = $1 and t.provider = (select id from chosen)
      join auth_providers p on p.id = t.provider
    order by (t.agent_id = $5 and t.subject = $4 and t.owner_id = $3 and $5 <> '') desc,
      f.linked desc, t.is_default desc, t.created_at desc, t.id desc`,
};

export type TokenQuestion = {
  workspaceId: string;
  providerId: string;
  platformOrganization: string | undefined;
  ownerId: string;
  subject: string;
  agentId: string;
};

/** Everything the caller may use, the best first. */
export function findCandidates(database: Database, question: TokenQuestion): Promise<Token[]> {
  const q = question;
  const values = [
    q.workspaceId,
    q.providerId,
    q.ownerId,
    q.subject,
    q.agentId,
    q.platformOrganization ?? null,
  ];
  return database.query<Token>(candidatesStatement, values);
}

export const byIdStatement: Statement = {
  name: "auth_token_by_id_v1",
  text: `select ${columnNames} from auth_tokens t join auth_providers p on p.id = t.provider where t.id = $1`,
};

/** Of any workspace: for work that already holds the token's id from a row. */
export async function findTokenById(database: Database, id: string): Promise<Token | undefined> {
  const [token] = await database.query<Token>(byIdStatement, [id]);
  return token;
}

export async function findToken(sql: Sql, workspaceId: string, id: string): Promise<Token | undefined> {
  const { rows } = await raw<Token>`select ${columns} from ${source}
    where t.workspace_id = ${workspaceId} and t.id = ${id}`.execute(sql);
  return rows[0];
}

/** Deletes the token, even if its lease is held, and returns it. */
export async function takeToken(sql: Sql, id: string): Promise<Token | undefined> {
  const token = await raw<Token>`select ${columns} from ${source} where t.id = ${id} for update of t`.execute(
    sql,
  );
  if (token.rows.length > 0) await raw`delete from auth_tokens where id = ${id}`.execute(sql);
  return token.rows[0];
}

export async function listOwnTokens(
  sql: Sql,
  filter: { workspaceId: string; ownerId: string; providerId?: string | undefined },
): Promise<Token[]> {
  const ofProvider = filter.providerId === undefined ? raw`true` : raw`p.provider_id = ${filter.providerId}`;
  const { rows } = await raw<Token>`select ${columns} from ${source}
    where t.workspace_id = ${filter.workspaceId} and t.owner_id = ${filter.ownerId} and ${ofProvider}
    order by t.created_at desc, t.id desc`.execute(sql);
  return rows;
}

/** Of the given providers, those the caller has a live token of, for any agent. */
export async function findConnectedProviders(
  sql: Sql,
  filter: { workspaceId: string; ownerId: string; providerIds: string[] },
): Promise<Set<string>> {
  const { rows } = await raw<{ provider_id: string }>`select distinct p.provider_id from ${source}
    where t.workspace_id = ${filter.workspaceId} and t.owner_id = ${filter.ownerId} and t.status = 'active'
      and p.provider_id = any(${filter.providerIds}::text[])`.execute(sql);
  return new Set(rows.map((row) => row.provider_id));
}

export async function listTypeTokens(sql: Sql, workspaceId: string, providerType: string): Promise<Token[]> {
  const { rows } = await raw<Token>`select ${columns} from ${source}
    where t.workspace_id = ${workspaceId} and (p.provider_type = ${providerType} or p.provider_id = ${providerType})
    order by t.created_at`.execute(sql);
  return rows;
}

export async function listProviderTokenIds(sql: Sql, provider: string): Promise<string[]> {
  const { rows } = await raw<{ id: string }>`
    select id from auth_tokens where provider = ${provider} order by id`.execute(sql);
  return rows.map((row) => row.id);
}

export type NewToken = {
  id: string;
  identity: TokenIdentity;
  accessTokenSealed: string;
  refreshTokenSealed: string | null;
  scopes: string[];
  lifetime: Lifetime;
  accountKey: string | null;
  accountLabel: string | null;
  metadata: Record<string, unknown> | null;
  isDefault: boolean;
};

export async function insertToken(sql: Sql, token: NewToken, now: Date): Promise<void> {
  const { identity: i, lifetime: l } = token;
  await raw`insert into auth_tokens (id, workspace_id, provider, owner_id, subject, agent_id, access_token_sealed,
      refresh_token_sealed, scopes, expires_at, stale_at, refresh_at, account_key, provider_account_label, metadata,
      is_default, created_at, updated_at)
    values (${token.id}, ${i.workspaceId}, ${i.provider}, ${i.ownerId}, ${i.subject}, ${i.agentId},
      ${token.accessTokenSealed}, ${token.refreshTokenSealed}, ${token.scopes}, ${l.expiresAt}, ${l.staleAt},
      ${l.refreshAt}, ${token.accountKey}, ${token.accountLabel}, ${jsonText(token.metadata)}::jsonb,
      ${token.isDefault}, ${now}, ${now})`.execute(sql);
}

/** A new consent for a token that is there: it lives on under its id. */
export async function renewToken(sql: Sql, token: NewToken, now: Date): Promise<boolean> {
  const { lifetime: l } = token;
  const { rows } = await raw`update auth_tokens set status = 'active',
      access_token_sealed = ${token.accessTokenSealed}, refresh_token_sealed = ${token.refreshTokenSealed},
      scopes = ${token.scopes}, expires_at = ${l.expiresAt}, stale_at = ${l.staleAt}, refresh_at = ${l.refreshAt},
      refresh_failures = 0, account_key = coalesce(${token.accountKey}, account_key),
      provider_account_label = coalesce(${token.accountLabel}, provider_account_label),
      metadata = coalesce(${jsonText(token.metadata)}::jsonb, metadata), is_default = ${token.isDefault},
      version = version + 1, lease_token = null, lease_expires_at = null, updated_at = ${now}
    where id = ${token.id} returning id`.execute(sql);
  return rows.length > 0;
}

/** Before another becomes the default; consents for one identity wait for one another here. */
export async function clearDefault(sql: Sql, identity: TokenIdentity): Promise<void> {
  const { workspaceId, provider, ownerId, subject, agentId } = identity;
  await raw`update auth_tokens set is_default = false
    where workspace_id = ${workspaceId} and owner_id = ${ownerId} and provider = ${provider}
      and subject = ${subject} and agent_id = ${agentId} and is_default`.execute(sql);
}

export async function lockIdentity(sql: Sql, identity: TokenIdentity): Promise<void> {
  const { workspaceId, provider, ownerId, subject, agentId } = identity;
  const key = JSON.stringify([workspaceId, provider, ownerId, subject, agentId]);
  await raw`select pg_advisory_xact_lock(hashtextextended(${key}, 1401))`.execute(sql);
}

export async function listIdentityTokens(sql: Sql, identity: TokenIdentity): Promise<Token[]> {
  const { rows } = await raw<Token>`select ${columns} from ${source}
    where t.workspace_id = ${identity.workspaceId} and t.owner_id = ${identity.ownerId}
      and t.provider = ${identity.provider} and t.subject = ${identity.subject} and t.agent_id = ${identity.agentId}
    order by t.is_default desc, t.created_at desc, t.id desc`.execute(sql);
  return rows;
}

export async function updateTokenMetadata(
  sql: Sql,
  id: string,
  change: { label?: string | null | undefined; isDefault?: boolean | undefined },
  now: Date,
): Promise<void> {
  const label = change.label === undefined ? raw`provider_account_label` : raw`${change.label}`;
  const isDefault = change.isDefault === undefined ? raw`is_default` : raw`${change.isDefault}`;
  await raw`update auth_tokens set provider_account_label = ${label}, is_default = ${isDefault}, updated_at = ${now}
    where id = ${id}`.execute(sql);
}

/** The newest token that is left becomes the default when the default one went. */
export async function promoteDefault(sql: Sql, identity: TokenIdentity): Promise<void> {
  const { workspaceId, provider, ownerId, subject, agentId } = identity;
  await raw`update auth_tokens set is_default = true where id = (
      select id from auth_tokens where workspace_id = ${workspaceId} and owner_id = ${ownerId}
        and provider = ${provider} and subject = ${subject} and agent_id = ${agentId}
      order by is_default desc, created_at desc, id desc limit 1) and not is_default`.execute(sql);
}

export function identityOf(token: Token): TokenIdentity {
  return {
    workspaceId: token.workspace_id,
    provider: token.provider,
    ownerId: token.owner_id,
    subject: token.subject,
    agentId: token.agent_id,
  };
}

function jsonText(value: Record<string, unknown> | null): string | null {
  return value === null ? null : JSON.stringify(value);
}
