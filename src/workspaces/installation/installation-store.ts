import type { Sql } from "../../platform/db/database.ts";
import { raw } from "../../platform/db/raw.ts";

/** Where the first administrator's key was written. */
export type KeyPlace = { host: string; path: string };

export async function findKeyPlace(tx: Sql): Promise<KeyPlace | undefined> {
  const { rows } = await raw<KeyPlace>`select key_host as host, key_path as path from installation`.execute(
    tx,
  );
  return rows[0];
}

export async function insertKeyPlace(tx: Sql, { host, path }: KeyPlace, now: Date): Promise<void> {
  await raw`insert into installation (key_host, key_path, made_at) values (${host}, ${path}, ${now})`.execute(
    tx,
  );
}
