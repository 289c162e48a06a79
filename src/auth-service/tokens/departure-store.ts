import type { Sql } from "../../platform/db/database.ts";
import { raw } from "../../platform/db/raw.ts";

type Whose = { workspaceId: string; userId: string | null };

const ownedBy = ({ workspaceId, userId }: Whose) =>
  userId === null
    ? raw`workspace_id = ${workspaceId}`
    : raw`workspace_id = ${workspaceId} and owner_id = ${userId}`;

/** Kept until they are revoked at their providers, but neither given out nor refreshed. */
export async function disableTokens(sql: Sql, whose: Whose, now: Date): Promise<void> {
  await raw`update auth_tokens set status = 'dead', refresh_at = null, version = version + 1, updated_at = ${now}
    where ${ownedBy(whose)}`.execute(sql);
}

export async function listDisabledTokens(sql: Sql, whose: Whose, before: Date): Promise<string[]> {
  const { rows } = await raw<{ id: string }>`select id from auth_tokens
    where ${ownedBy(whose)} and status = 'dead' and created_at <= ${before} order by id`.execute(sql);
  return rows.map((row) => row.id);
}

export async function deleteAuthorizations(sql: Sql, { workspaceId, userId }: Whose): Promise<void> {
  const theirs = userId === null ? raw`true` : raw`initiator_id = ${userId}`;
  await raw`delete from auth_authorizations where workspace_id = ${workspaceId} and ${theirs}`.execute(sql);
}

/** With their client secrets, and the address events were sent to. */
export async function deleteProviders(sql: Sql, workspaceId: string): Promise<void> {
  await raw`delete from auth_webhooks where workspace_id = ${workspaceId}`.execute(sql);
  await raw`delete from auth_providers p where p.workspace_id = ${workspaceId}
    and not exists (select 1 from auth_tokens t where t.provider = p.id)`.execute(sql);
}
