import type { Sql } from "../../platform/db/database.ts";
import { raw } from "../../platform/db/raw.ts";

/**
 * Differs whenever an export of the workspace was made, went on or ended. Only the newest and the unfinished ones are
 * looked at: what is finished does not change, however many there are.
 */
export async function readExportsMark(sql: Sql, workspaceId: string): Promise<string> {
  const { rows } = await raw<{ mark: string }>`
    select concat_ws(' ',
      (select id from bulk_exports where workspace_id = ${workspaceId} order by created_at desc, id desc limit 1),
      (select concat_ws(' ', count(*), max(e.updated_at), max(r.updated_at), sum(r.unfinished))
       from bulk_exports e
       left join lateral (
         select max(updated_at) as updated_at, count(*) as unfinished from bulk_export_runs
         where bulk_export_id = e.id and status in ('CREATED', 'RUNNING')
       ) r on true
       where e.workspace_id = ${workspaceId} and e.status in ('CREATED', 'RUNNING'))) as mark`.execute(sql);
  return rows[0]!.mark;
}

export async function readDestinationsMark(sql: Sql, workspaceId: string): Promise<string> {
  const { rows } = await raw<{ mark: string }>`
    select concat_ws(' ', count(*), max(updated_at)) as mark
    from bulk_export_destinations where workspace_id = ${workspaceId}`.execute(sql);
  return rows[0]!.mark;
}
