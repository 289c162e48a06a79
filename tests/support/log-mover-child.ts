import { FolderBlobStore } from "../../src/platform/blob/folder-blob-store.ts";
import { openDatabase } from "../../src/platform/db/connection/open-database.ts";
import { createLogger } from "../../src/platform/logger.ts";
import { moverOf } from "./old-logs.ts";

/** Moves old lines, and prints a line for each blob. Arguments: database, folder, whether to go no further than the first blob. */
const [url, folder, halt] = process.argv.slice(2);
const database = openDatabase({ url: url!, poolSize: 3, logger: createLogger({ level: "silent" }) });

class TellingStore extends FolderBlobStore {
  override async put(key: string, body: Buffer): Promise<void> {
    await super.put(key, body);
    console.log(`stored ${key}`);
    if (halt === "after-blob") await new Promise(() => setInterval(() => {}, 60_000));
  }
}

await moverOf(database, new TellingStore(folder!)).run(async () => {}, new AbortController().signal);
await database.close();
console.log("done");
