import type { Sql } from "../../platform/db/database.ts";
import { raw } from "../../platform/db/raw.ts";
import type { Retention } from "../runs/retention.ts";

export async function readRetentionDays(sql: Sql, workspaceId: string): Promise<number | null> {
  const { rows } = await raw<{ retention_days: number | null }>`
    select retention_days from trace_settings where workspace_id = ${workspaceId}
  `.execute(sql);
  return rows[0]?.retention_days ?? null;
}

export async function saveRetentionDays(sql: Sql, workspaceId: string, days: number | null): Promise<void> {
  await raw`
    insert into trace_settings (workspace_id, retention_days) values (${workspaceId}, ${days})
    on conflict (workspace_id) do update set retention_days = excluded.retention_days
  `.execute(sql);
}

/** Projects whose runs are not kept for ever. */
export async function listRetentions(sql: Sql): Promise<Retention[]> {
  const { rows } = await raw<Retention>`
    select p.workspace_id, p.id as project_id, coalesce(p.retention_days, s.retention_days) as retention_days
    from trace_projects p left join trace_settings s using (workspace_id)
    where p.deleted_at is null and coalesce(p.retention_days, s.retention_days) is not null
  `.execute(sql);
  return rows;
}
