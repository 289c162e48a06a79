import type { Sql } from "../platform/db/database.ts";
import { raw } from "../platform/db/raw.ts";
import type { Role } from "../platform/http/caller.ts";

export type KeyOwner = { organization_id: string; user_id: string; role: Role };

/** Members who could own a key of the platform's, those least likely to leave first. */
export async function listKeyOwners(sql: Sql, workspaceId: string): Promise<KeyOwner[]> {
  const { rows } = await raw<KeyOwner>`
    select w.organization_id, m.user_id, m.role
    from memberships m join users u on u.id = m.user_id join workspaces w on w.id = m.workspace_id
    where m.workspace_id = ${workspaceId} and w.deleted_at is null
    order by u.is_bootstrap desc, (m.role = 'admin') desc, m.created_at, m.user_id`.execute(sql);
  return rows;
}
