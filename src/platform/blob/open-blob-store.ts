import { NetworkGuard } from "../network/network-guard.ts";
import type { BlobPlace } from "./blob-place.ts";
import type { BlobStore } from "./blob-store.ts";
import { FolderBlobStore } from "./folder-blob-store.ts";
import { openS3BlobStore } from "./open-s3-blob-store.ts";

/** The platform's own storage. Its operator named it, so it may be on a private address. */
export async function openBlobStore(place: BlobPlace): Promise<BlobStore> {
  if (place.kind === "folder") return new FolderBlobStore(place.folder);
  return openS3BlobStore({
    settings: place.bucket,
    prefix: place.prefix,
    owner: "platform",
    network: new NetworkGuard({ allowPrivateAddresses: true }),
    sockets: 32,
    connectTimeoutMs: 5_000,
    silenceTimeoutMs: 30_000,
  });
}

/** `s3://bucket/prefix`, or the folder's path: its name in messages. */
export function nameOfPlace(place: BlobPlace): string {
  return place.kind === "folder" ? place.folder : `s3://${place.bucket.bucket}/${place.prefix}`;
}
