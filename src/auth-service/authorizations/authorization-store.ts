import type { Sql } from "../../platform/db/database.ts";
import { raw } from "../../platform/db/raw.ts";
import type { Authorization } from "./authorization.ts";

/** Notifies waiting callers that a consent has ended. */
export const authorizationChannel = "treadle_auth_done";

const columns =
  raw.raw(`a.id, a.workspace_id, a.provider, p.provider_id, a.initiator_id, a.subject_kind, a.subject,
  a.agent_id, a.state_hash, a.code_verifier_sealed, a.url_sealed, a.redirect_uri, a.scopes, a.is_default,
  a.renews_token_id, a.status, a.failure, a.token_id, a.created_at, a.expires_at`);

export type NewAuthorization = Omit<Authorization, "provider_id" | "status" | "failure" | "token_id">;

export async function insertAuthorization(sql: Sql, authorization: NewAuthorization): Promise<void> {
  const a = authorization;
  await raw`insert into auth_authorizations (id, workspace_id, provider, initiator_id, subject_kind, subject, agent_id,
      state_hash, code_verifier_sealed, url_sealed, redirect_uri, scopes, is_default, renews_token_id, created_at,
      expires_at)
    values (${a.id}, ${a.workspace_id}, ${a.provider}, ${a.initiator_id}, ${a.subject_kind}, ${a.subject},
      ${a.agent_id}, ${a.state_hash}, ${a.code_verifier_sealed}, ${a.url_sealed}, ${a.redirect_uri},
      ${a.scopes}, ${a.is_default}, ${a.renews_token_id}, ${a.created_at}, ${a.expires_at})`.execute(sql);
}

export async function findAuthorization(
  sql: Sql,
  workspaceId: string,
  id: string,
): Promise<Authorization | undefined> {
  const { rows } = await raw<Authorization>`select ${columns}
    from auth_authorizations a join auth_providers p on p.id = a.provider
    where a.id = ${id} and a.workspace_id = ${workspaceId} and p.deleted_at is null`.execute(sql);
  return rows[0];
}

/**
 * Those that wait for this person: their own, and those for an agent, to which any editor may lend an account. Asked
 * twice for the same, only the latest counts.
 */
export async function listOpenAuthorizations(
  sql: Sql,
  filter: { workspaceId: string; userId: string; now: Date },
): Promise<Authorization[]> {
  const { rows } = await raw<Authorization>`select * from (
      select distinct on (a.provider, a.initiator_id, a.subject_kind, a.subject, a.agent_id, a.scopes) ${columns}
      from auth_authorizations a join auth_providers p on p.id = a.provider
      where a.workspace_id = ${filter.workspaceId} and a.status = 'pending' and a.expires_at > ${filter.now}
        and (a.initiator_id = ${filter.userId} or a.subject_kind = 'agent') and p.deleted_at is null
      order by a.provider, a.initiator_id, a.subject_kind, a.subject, a.agent_id, a.scopes, a.created_at desc) open
    order by created_at desc, id desc limit 100`.execute(sql);
  return rows;
}

/** The same question, asked and not answered yet. */
export async function findSameAuthorization(
  sql: Sql,
  wanted: NewAuthorization,
  openUntil: Date,
): Promise<Authorization | undefined> {
  const a = wanted;
  const { rows } = await raw<Authorization>`select ${columns}
    from auth_authorizations a join auth_providers p on p.id = a.provider
    where a.workspace_id = ${a.workspace_id} and a.status = 'pending' and a.expires_at > ${openUntil}
      and a.initiator_id = ${a.initiator_id} and a.provider = ${a.provider} and a.subject_kind = ${a.subject_kind}
      and a.subject = ${a.subject} and a.agent_id = ${a.agent_id} and a.redirect_uri = ${a.redirect_uri}
      and a.scopes = ${a.scopes}::text[] and a.is_default = ${a.is_default}
      and a.renews_token_id is not distinct from ${a.renews_token_id}::uuid and a.url_sealed is not null
    order by a.created_at desc, a.id desc limit 1`.execute(sql);
  return rows[0];
}

/** Exactly one caller gets true. */
export async function claimAuthorization(sql: Sql, id: string, now: Date): Promise<boolean> {
  const { rows } = await raw`update auth_authorizations set status = 'claimed'
    where id = ${id} and status = 'pending' and expires_at > ${now} returning id`.execute(sql);
  return rows.length > 0;
}

export async function completeAuthorization(sql: Sql, id: string, tokenId: string): Promise<void> {
  await raw`update auth_authorizations set status = 'completed', token_id = ${tokenId}, code_verifier_sealed = null,
      url_sealed = null where id = ${id}`.execute(sql);
  await raw`select pg_notify(${authorizationChannel}, ${id})`.execute(sql);
}

export async function failAuthorization(sql: Sql, id: string, failure: string): Promise<void> {
  await raw`update auth_authorizations set status = 'failed', failure = ${failure}, code_verifier_sealed = null,
      url_sealed = null where id = ${id}`.execute(sql);
  await raw`select pg_notify(${authorizationChannel}, ${id})`.execute(sql);
}

export async function deleteExpiredAuthorizations(sql: Sql, before: Date): Promise<void> {
  await raw`delete from auth_authorizations where expires_at < ${before}`.execute(sql);
}
