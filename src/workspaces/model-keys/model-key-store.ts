import type { Sql } from "../../platform/db/database.ts";
import { raw } from "../../platform/db/raw.ts";
import type { ModelKey } from "./model-key.ts";

export async function listModelKeys(sql: Sql, workspaceId: string): Promise<ModelKey[]> {
  const { rows } = await raw<ModelKey>`
    select provider, hint, updated_by, updated_at from model_keys where workspace_id = ${workspaceId}`.execute(
    sql,
  );
  return rows;
}

export async function findSealedKey(sql: Sql, workspaceId: string, provider: string): Promise<string | null> {
  const { rows } = await raw<{ key_sealed: string }>`
    select key_sealed from model_keys where workspace_id = ${workspaceId} and provider = ${provider}`.execute(
    sql,
  );
  return rows[0]?.key_sealed ?? null;
}

export async function saveModelKey(
  sql: Sql,
  key: { workspaceId: string; provider: string; sealed: string; hint: string; userId: string; now: Date },
): Promise<void> {
  await raw`
    insert into model_keys (workspace_id, provider, key_sealed, hint, updated_by, updated_at)
    values (${key.workspaceId}, ${key.provider}, ${key.sealed}, ${key.hint}, ${key.userId}, ${key.now})
    on conflict (workspace_id, provider) do update set key_sealed = excluded.key_sealed, hint = excluded.hint,
      updated_by = excluded.updated_by, updated_at = excluded.updated_at`.execute(sql);
}

/** False when there was none. */
export async function deleteModelKey(sql: Sql, workspaceId: string, provider: string): Promise<boolean> {
  const { rows } = await raw`
    delete from model_keys where workspace_id = ${workspaceId} and provider = ${provider}
    returning provider`.execute(sql);
  return rows.length > 0;
}
