import type { Sql } from "../../platform/db/database.ts";
import { raw } from "../../platform/db/raw.ts";

/** Binds a key that is bound to none yet; the answer is the listener that it acts for. */
export async function bindKey(sql: Sql, apiKeyId: string, listenerId: string): Promise<string | undefined> {
  await raw`insert into listener_keys (api_key_id, listener_id) values (${apiKeyId}, ${listenerId})
    on conflict (api_key_id) do nothing`.execute(sql);
  return findListenerOfKey(sql, apiKeyId);
}

export async function findListenerOfKey(sql: Sql, apiKeyId: string): Promise<string | undefined> {
  const { rows } = await raw<{ listener_id: string }>`
    select listener_id from listener_keys where api_key_id = ${apiKeyId}`.execute(sql);
  return rows[0]?.listener_id;
}

/** A key of this workspace that may act for a listener at all. */
export async function isListenerKey(sql: Sql, workspaceId: string, apiKeyId: string): Promise<boolean> {
  const { rows } = await raw`
    select 1 from api_keys where id = ${apiKeyId} and workspace_id = ${workspaceId} and revoked_at is null
      and 'listener' = any(scopes)`.execute(sql);
  return rows.length > 0;
}
