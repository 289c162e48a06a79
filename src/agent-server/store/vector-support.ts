import type { Database } from "../../platform/db/database.ts";
import { raw } from "../../platform/db/raw.ts";
import { errorMessage } from "../../platform/errors.ts";
import type { Logger } from "../../platform/logger.ts";
import type { VectorMath } from "./item-search-store.ts";

/**
 * Whether the database brings pgvector. It is used as a faster inner product over the same column, not as an
 * approximate index: results stay exact and a database without it answers the same.
 */
export async function detectVectorMath(database: Database, logger: Logger): Promise<VectorMath> {
  const { rows } = await raw<{ installed: boolean }>`select installed_version is not null as installed
    from pg_available_extensions where name = 'vector'`.execute(database.sql);
  const [extension] = rows;
  if (!extension) return "sql";
  if (!extension.installed) {
    try {
      await raw`create extension if not exists vector`.execute(database.sql);
    } catch (error) {
      // Another process may have been faster; the trial below decides.
      logger.info({ reason: errorMessage(error) }, "pgvector is available but could not be installed");
    }
  }
  try {
    await raw`select -('{1,0}'::real[]::vector <#> '{1,0}'::real[]::vector)`.execute(database.sql);
    return "pgvector";
  } catch (error) {
    logger.info(
      { reason: errorMessage(error) },
      "store search uses plain SQL, because pgvector does not respond",
    );
    return "sql";
  }
}
