import type { Sql } from "../../platform/db/database.ts";
import { raw } from "../../platform/db/raw.ts";

/** A token that is no longer used but not yet revoked at its provider. */
export type PendingRevocation = {
  id: string;
  workspace_id: string;
  provider: string;
  provider_id: string;
  owner_id: string;
  token_id: string;
  subject: string;
  agent_id: string;
  provider_account_label: string | null;
  scopes: string[];
  /** Why it is left: who or what took it out of use. */
  source: string;
  access_token_sealed: string;
  refresh_token_sealed: string | null;
};

export async function insertPendingRevocation(
  sql: Sql,
  row: Omit<PendingRevocation, "provider_id">,
  now: Date,
): Promise<void> {
  await raw`insert into auth_pending_revocations (id, workspace_id, provider, owner_id, token_id, subject, agent_id,
      provider_account_label, scopes, source, access_token_sealed, refresh_token_sealed, created_at)
    values (${row.id}, ${row.workspace_id}, ${row.provider}, ${row.owner_id}, ${row.token_id}, ${row.subject},
      ${row.agent_id}, ${row.provider_account_label}, ${row.scopes}, ${row.source}, ${row.access_token_sealed},
      ${row.refresh_token_sealed}, ${now})`.execute(sql);
}

export async function findPendingRevocation(sql: Sql, id: string): Promise<PendingRevocation | undefined> {
  const { rows } =
    await raw<PendingRevocation>`select r.id, r.workspace_id, r.provider, p.provider_id, r.owner_id,
      r.token_id, r.subject, r.agent_id, r.provider_account_label, r.scopes, r.source, r.access_token_sealed,
      r.refresh_token_sealed
    from auth_pending_revocations r join auth_providers p on p.id = r.provider where r.id = ${id}`.execute(
      sql,
    );
  return rows[0];
}

export async function listPendingOfProvider(sql: Sql, provider: string): Promise<string[]> {
  const { rows } = await raw<{
    id: string;
  }>`select id from auth_pending_revocations where provider = ${provider}
    order by id`.execute(sql);
  return rows.map((row) => row.id);
}

/** False when another process has finished it. */
export async function deletePendingRevocation(sql: Sql, id: string): Promise<boolean> {
  const { rows } = await raw`delete from auth_pending_revocations where id = ${id} returning id`.execute(sql);
  return rows.length > 0;
}
