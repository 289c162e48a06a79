import { openDatabase } from "../src/platform/db/connection/open-database.ts";
import { readCatalogue } from "../src/platform/db/schema/catalogue.ts";
import { dumpSchema } from "../src/platform/db/schema/schema-dump.ts";
import { writeTableTypes } from "../src/platform/db/schema/table-types.ts";
import { createLogger } from "../src/platform/logger.ts";
import { startTestPostgres, withDatabase } from "../tests/support/postgres.ts";

/** The files that follow from the migrations, made from a scratch database; paths from the project's folder. */
export async function generateSchema(): Promise<{ path: string; content: string }[]> {
  const server = await startTestPostgres();
  try {
    const database = openDatabase({
      url: withDatabase(server.url, server.templateDatabase),
      poolSize: 2,
      logger: createLogger({ level: "warn" }),
      applicationName: "treadle generate",
    });
    try {
      const catalogue = await readCatalogue(database);
      return [
        { path: "migrations/schema.sql", content: dumpSchema(catalogue) },
        { path: "src/platform/db/tables.ts", content: writeTableTypes(catalogue) },
      ];
    } finally {
      await database.close();
    }
  } finally {
    await server.stop();
  }
}
