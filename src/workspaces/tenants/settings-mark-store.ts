import type { Sql } from "../../platform/db/database.ts";
import { raw } from "../../platform/db/raw.ts";

/** Differs whenever the members, the keys or the workspaces of the organization have changed. */
export async function readSettingsMark(sql: Sql, workspaceId: string): Promise<string> {
  const { rows } = await raw<{ mark: string }>`
    select concat_ws(' ',
      (select concat_ws(' ', count(*), max(updated_at)) from memberships where workspace_id = ${workspaceId}),
      (select concat_ws(' ', count(*), max(k.created_at)) from memberships m
       join api_keys k on k.user_id = m.user_id and k.revoked_at is null
       where m.workspace_id = ${workspaceId}),
      (select concat_ws(' ', count(*), max(created_at)) from api_keys
       where workspace_id = ${workspaceId} and user_id is null and revoked_at is null),
      (select concat_ws(' ', count(*), max(w.updated_at)) from workspaces own
       join workspaces w on w.organization_id = own.organization_id and w.deleted_at is null
       where own.id = ${workspaceId})) as mark`.execute(sql);
  return rows[0]!.mark;
}
