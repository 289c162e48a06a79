import { purge } from "../../src/control-plane/reconciler/maintenance.ts";
import { readDeployment } from "../../src/control-plane/reconciler/observation-store.ts";
import { provisionDatabase } from "../../src/control-plane/reconciler/provision-database.ts";
import { FolderBlobStore } from "../../src/platform/blob/folder-blob-store.ts";
import { openDatabase } from "../../src/platform/db/connection/open-database.ts";
import { createLogger } from "../../src/platform/logger.ts";

/** Makes or purges the databases of deployments, each as often as it is named. Arguments: database, folder, what, ids. */
const [url, folder, what, ...ids] = process.argv.slice(2);
const logger = createLogger({ level: "silent" });
const database = openDatabase({ url: url!, poolSize: 3, logger });
process.once("SIGUSR2", async () => {
  for (const id of ids) {
    const deployment = await readDeployment(database.sql, id);
    if (!deployment) continue;
    const own = { name: deployment.database_name, password: "a password" };
    if (what === "make") await provisionDatabase(database.sql, id, own);
    else await purge({ database, logger, folder: folder!, blobs: new FolderBlobStore(folder!) }, deployment);
  }
  await database.close();
  console.log("done");
  process.exit(0);
});
console.log("ready");
setInterval(() => {}, 60_000);
