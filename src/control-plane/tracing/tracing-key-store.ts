import type { Sql } from "../../platform/db/database.ts";
import { raw } from "../../platform/db/raw.ts";

export type TracingKeyRow = { api_key_id: string; key_sealed: string };

export async function findTracingKey(sql: Sql, workspaceId: string): Promise<TracingKeyRow | undefined> {
  const { rows } = await raw<TracingKeyRow>`
    select api_key_id, key_sealed from tracing_keys where workspace_id = ${workspaceId}`.execute(sql);
  return rows[0];
}

export async function saveTracingKey(
  sql: Sql,
  workspaceId: string,
  row: TracingKeyRow,
  now: Date,
): Promise<void> {
  await raw`
    insert into tracing_keys (workspace_id, api_key_id, key_sealed, created_at)
    values (${workspaceId}, ${row.api_key_id}, ${row.key_sealed}, ${now})
    on conflict (workspace_id) do update set api_key_id = excluded.api_key_id, key_sealed = excluded.key_sealed,
      created_at = excluded.created_at`.execute(sql);
}
