import type { Sql } from "../../platform/db/database.ts";
import { raw } from "../../platform/db/raw.ts";
import type { SavedView } from "./saved-view.ts";

const columns = raw.raw(
  "id, workspace_id, project_id, name, filter, columns, sort, options, created_by, created_at, updated_at",
);

export async function listSavedViews(sql: Sql, workspaceId: string, projectId: string): Promise<SavedView[]> {
  const { rows } = await raw<SavedView>`select ${columns} from trace_saved_views
    where workspace_id = ${workspaceId} and project_id = ${projectId} order by lower(name), id`.execute(sql);
  return rows;
}

export async function findSavedView(
  sql: Sql,
  workspaceId: string,
  projectId: string,
  id: string,
): Promise<SavedView | undefined> {
  const { rows } = await raw<SavedView>`select ${columns} from trace_saved_views
    where id = ${id} and workspace_id = ${workspaceId} and project_id = ${projectId} for update`.execute(sql);
  return rows[0];
}

export async function insertSavedView(sql: Sql, view: SavedView): Promise<void> {
  await raw`insert into trace_saved_views
      (id, workspace_id, project_id, name, filter, columns, sort, options, created_by, created_at, updated_at)
    values (${view.id}, ${view.workspace_id}, ${view.project_id}, ${view.name}, ${view.filter},
      ${view.columns}::text[], ${view.sort}, ${JSON.stringify(view.options)}::jsonb, ${view.created_by},
      ${view.created_at}, ${view.updated_at})`.execute(sql);
}

export async function updateSavedView(sql: Sql, view: SavedView): Promise<void> {
  await raw`update trace_saved_views set name = ${view.name}, filter = ${view.filter},
      columns = ${view.columns}::text[], sort = ${view.sort}, options = ${JSON.stringify(view.options)}::jsonb,
      updated_at = ${view.updated_at}
    where id = ${view.id} and workspace_id = ${view.workspace_id}`.execute(sql);
}

/** False when there was none. */
export async function deleteSavedView(
  sql: Sql,
  workspaceId: string,
  projectId: string,
  id: string,
): Promise<boolean> {
  const { rows } = await raw`delete from trace_saved_views
    where id = ${id} and workspace_id = ${workspaceId} and project_id = ${projectId} returning id`.execute(
    sql,
  );
  return rows.length > 0;
}
