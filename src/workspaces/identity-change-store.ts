import type { Sql } from "../platform/db/database.ts";
import { raw } from "../platform/db/raw.ts";

/** Told to every process when keys, members or workspaces changed, so that none acts on what it remembers. */
export const identityChannel = "identity_changed";

/** Sent when the transaction commits, and only then. */
export async function announceIdentityChange(sql: Sql): Promise<void> {
  await raw`select pg_notify(${identityChannel}, '')`.execute(sql);
}
