import type { Sql } from "../../platform/db/database.ts";
import { raw } from "../../platform/db/raw.ts";

export type Listener = {
  id: string;
  workspace_id: string;
  version: string | null;
  compute_type: string;
  compute_id: string;
  compute_config: Record<string, unknown>;
  created_at: Date;
  updated_at: Date;
};

export async function insertListener(
  sql: Sql,
  row: Omit<Listener, "created_at" | "updated_at">,
  now: Date,
): Promise<Listener | undefined> {
  const { rows } = await raw<Listener>`
    insert into listeners (id, workspace_id, version, compute_type, compute_id, compute_config, created_at, updated_at)
    values (${row.id}, ${row.workspace_id}, ${row.version}, ${row.compute_type}, ${row.compute_id},
      ${JSON.stringify(row.compute_config)}::jsonb, ${now}, ${now})
    on conflict (workspace_id, compute_id) do nothing returning *`.execute(sql);
  return rows[0];
}

export async function listListeners(
  sql: Sql,
  workspaceId: string,
  page: { limit: number; offset: number },
): Promise<Listener[]> {
  const { rows } = await raw<Listener>`
    select * from listeners where workspace_id = ${workspaceId} order by created_at desc, id desc
    limit ${page.limit} offset ${page.offset}`.execute(sql);
  return rows;
}

export async function findListener(sql: Sql, workspaceId: string, id: string): Promise<Listener | undefined> {
  const { rows } = await raw<Listener>`
    select * from listeners where id = ${id} and workspace_id = ${workspaceId}`.execute(sql);
  return rows[0];
}

export async function saveListener(
  sql: Sql,
  workspaceId: string,
  id: string,
  change: { version?: string | null | undefined; computeConfig?: Record<string, unknown> | null | undefined },
  now: Date,
): Promise<Listener | undefined> {
  const config = change.computeConfig ? JSON.stringify(change.computeConfig) : null;
  const { rows } = await raw<Listener>`
    update listeners set version = coalesce(${change.version ?? null}, version),
      compute_config = coalesce(${config}::jsonb, compute_config), updated_at = ${now}
    where id = ${id} and workspace_id = ${workspaceId} returning *`.execute(sql);
  return rows[0];
}

export async function deleteListener(sql: Sql, workspaceId: string, id: string): Promise<boolean> {
  const { rows } = await raw`
    delete from listeners where id = ${id} and workspace_id = ${workspaceId} returning id`.execute(sql);
  return rows.length > 0;
}
