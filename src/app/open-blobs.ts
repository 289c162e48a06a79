import type { BlobConfig } from "../config/index.ts";
import { checkBlobStore, mayPass } from "../platform/blob/blob-health.ts";
import type { BlobStore } from "../platform/blob/blob-store.ts";
import { nameOfPlace, openBlobStore } from "../platform/blob/open-blob-store.ts";
import type { Logger } from "../platform/logger.ts";
import type { Lifecycle } from "./lifecycle.ts";

/** The storage the settings name. A wrong setting ends the start; a storage that is only away does not. */
export async function openBlobs(
  { place, isShared }: BlobConfig,
  { logger, life }: { logger: Logger; life: Lifecycle },
): Promise<{ store: BlobStore; notes: string[] }> {
  const store = await openBlobStore(place);
  life.onClose(async () => store.close());
  // The data folder is this server's own and has been written to by now.
  if (!isShared) return { store, notes: [] };
  try {
    await checkBlobStore(store);
    return { store, notes: [] };
  } catch (error) {
    if (!mayPass(error)) throw error;
    const note = `Uploads, builds and old logs have to wait: ${error.message}`;
    logger.warn({ storage: nameOfPlace(place), code: error.code }, note);
    return { store, notes: [note] };
  }
}
