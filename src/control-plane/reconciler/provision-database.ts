import type { Sql } from "../../platform/db/database.ts";
import { createOwnDatabase, type OwnDatabase, withOwnDatabaseLock } from "../../platform/db/own-database.ts";
import { readDeployment } from "./observation-store.ts";

/** Not for a deployment that was purged meanwhile: its database would never be dropped. */
export function provisionDatabase(sql: Sql, deploymentId: string, own: OwnDatabase): Promise<void> {
  return withOwnDatabaseLock(sql, own.name, async (connection) => {
    if (await readDeployment(connection, deploymentId)) await createOwnDatabase(connection, own);
  });
}
