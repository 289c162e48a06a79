import type { Database } from "../../platform/db/database.ts";
import { raiseDatabaseWalls } from "../../platform/db/database-walls.ts";
import type { Logger } from "../../platform/logger.ts";
import { listDatabaseNames } from "./observation-store.ts";

export type CloseDatabasesOptions = {
  database: Database;
  logger: Logger;
  /** That PostgreSQL server holds only this platform's data. */
  ownsServer: boolean;
};

/** Before anything is started: deployed code must find the platform's database shut. */
export async function closeDatabases({ database, logger, ownsServer }: CloseDatabasesOptions): Promise<void> {
  const roles = await listDatabaseNames(database.sql);
  const missing = await raiseDatabaseWalls(database.sql, {
    ownsServer,
    roles,
  });
  if (missing.platform !== null)
    logger.warn(
      { database: missing.platform },
      "roles of deployments may connect to the platform's database: have its owner run `revoke connect, temporary on database … from public`",
    );
  if (missing.roles.length > 0)
    logger.warn(
      { roles: missing.roles },
      "roles of deployments have no limits: another role created them, and only it or a superuser may alter them",
    );
  if (missing.others.length > 0)
    logger.info(
      { databases: missing.others },
      "roles of deployments may connect to other databases of this PostgreSQL server, which are left as they are",
    );
}
