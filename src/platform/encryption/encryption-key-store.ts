import type { Sql } from "../db/database.ts";
import { raw } from "../db/raw.ts";

export type EncryptionKeyRow = { key_id: string; check_sealed: string; retired_at: Date | null };

/** Notifies every process that the key to seal with has changed. */
export const encryptionKeysChannel = "encryption_keys";

export async function lockEncryptionKeys(sql: Sql): Promise<void> {
  await raw`select pg_advisory_xact_lock(hashtext('treadle.encryption_keys'))`.execute(sql);
}

export async function listEncryptionKeys(sql: Sql): Promise<EncryptionKeyRow[]> {
  const { rows } = await raw<EncryptionKeyRow>`
    select key_id, check_sealed, retired_at from encryption_keys order by created_at`.execute(sql);
  return rows;
}

/** Adds the key, or takes one back into use that an earlier rotation retired. */
export async function saveEncryptionKey(sql: Sql, keyId: string, checkSealed: string): Promise<void> {
  await raw`
    insert into encryption_keys (key_id, check_sealed) values (${keyId}, ${checkSealed})
    on conflict (key_id) do update set retired_at = null`.execute(sql);
}

export async function retireOtherKeys(sql: Sql, currentKeyId: string): Promise<string[]> {
  const { rows } = await raw<{ key_id: string }>`
    update encryption_keys set retired_at = now()
    where key_id <> ${currentKeyId} and retired_at is null
    returning key_id`.execute(sql);
  return rows.map((row) => row.key_id);
}

export async function announceEncryptionKeys(sql: Sql, keyId: string): Promise<void> {
  await raw`select pg_notify(${encryptionKeysChannel}, ${keyId})`.execute(sql);
}
