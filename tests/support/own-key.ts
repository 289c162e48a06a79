import type { Database } from "../../src/platform/db/database.ts";
import { raw } from "../../src/platform/db/raw.ts";

/** As though its user had signed in and made the key themselves: one that an admin made uses no accounts. */
export async function makeOwn(database: Database, keyId: string): Promise<void> {
  await raw`update api_keys set created_by = user_id where id = ${keyId}`.execute(database.sql);
}
