import type { Sql } from "../../platform/db/database.ts";
import { raw } from "../../platform/db/raw.ts";

/** Differs whenever a provider, or the user's accounts, bindings, open authorizations or events, have changed. */
export async function readConnectionsMark(
  sql: Sql,
  scope: { workspaceId: string; userId: string },
): Promise<string> {
  const { workspaceId, userId } = scope;
  const { rows } = await raw<{ mark: string }>`
    select concat_ws(' ',
      (select concat_ws(' ', count(*), max(updated_at)) from auth_providers
       where (workspace_id = ${workspaceId} or workspace_id is null) and deleted_at is null),
      (select concat_ws(' ', count(distinct t.id), max(t.updated_at), count(c.id)) from auth_tokens t
       left join auth_connections c on c.oauth_token_id = t.id
       where t.workspace_id = ${workspaceId} and t.owner_id = ${userId}),
      (select concat_ws(' ', count(*), count(*) filter (where status = 'pending'), max(created_at))
       from auth_authorizations
       where expires_at > now() and workspace_id = ${workspaceId}
         and (initiator_id = ${userId} or subject_kind = 'agent')),
      (select concat_ws(' ', max(created_at), max(acknowledged_at)) from auth_token_events
       where workspace_id = ${workspaceId} and owner_id = ${userId})) as mark`.execute(sql);
  return rows[0]!.mark;
}
