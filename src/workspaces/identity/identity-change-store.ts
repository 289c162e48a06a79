import type { Sql } from "../../platform/db/database.ts";
import { raw } from "../../platform/db/raw.ts";

/** Notifies every process that keys, members or workspaces changed, so that it drops what it has cached. */
export const identityChannel = "identity_changed";

/** Sent when the transaction commits, and only then. */
export async function announceIdentityChange(sql: Sql): Promise<void> {
  await raw`select pg_notify(${identityChannel}, '')`.execute(sql);
}
