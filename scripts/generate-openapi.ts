import { tmpdir } from "node:os";
import { composePlatform } from "../src/app/compose.ts";
import { planRoles } from "../src/app/roles.ts";
import { readConfig } from "../src/config/index.ts";
import { FolderBlobStore } from "../src/platform/blob/folder-blob-store.ts";
import { systemClock } from "../src/platform/clock.ts";
import { openDatabase } from "../src/platform/db/connection/open-database.ts";
import { SecretBox } from "../src/platform/encryption/secret-box.ts";
import { buildOpenApi } from "../src/platform/http/openapi/openapi.ts";
import { createLogger } from "../src/platform/logger.ts";

/** The OpenAPI documents, from the routes. Nothing is started and no database is asked. */
export async function generateOpenApi(): Promise<{ path: string; content: string }[]> {
  const logger = createLogger({ level: "silent" });
  const { documents } = await composePlatform({
    config: readConfig({}),
    plan: planRoles("all"),
    state: () => "starting",
    database: openDatabase({ url: "postgres://127.0.0.1/none", poolSize: 2, logger }),
    databaseUrl: "postgres://127.0.0.1/none",
    secretBox: new SecretBox({ currentKey: "only to build the routes", previousKeys: [] }),
    blobs: new FolderBlobStore(tmpdir()),
    clock: systemClock,
    logger,
    publicUrl: () => "http://127.0.0.1",
    internalUrl: () => "http://127.0.0.1",
  });
  return documents.map((document) => ({
    path: `openapi${document.path === "/openapi.json" ? "/treadle.json" : document.path.replaceAll("/", "-").replace("-openapi.json", ".json").replace("-", "/")}`,
    content: `${JSON.stringify(buildOpenApi(document), null, 2)}\n`,
  }));
}
