import type { Config } from "../../../config/index.ts";
import type { Verdict } from "./checks.ts";

/** By writing a small object and removing it, as the server does when it starts. */
export async function checkStorage({ blobs: { place, isShared } }: Config): Promise<Verdict> {
  const { nameOfPlace, openBlobStore } = await import("../../../platform/blob/open-blob-store.ts");
  if (!isShared) return { status: "ok", message: `uploads, builds and old logs: ${nameOfPlace(place)}` };
  const { checkBlobStore } = await import("../../../platform/blob/blob-health.ts");
  const store = await openBlobStore(place);
  try {
    await checkBlobStore(store);
    return { status: "ok", message: `TREADLE_BLOB_URL can be used: ${nameOfPlace(place)}` };
  } finally {
    store.close();
  }
}
