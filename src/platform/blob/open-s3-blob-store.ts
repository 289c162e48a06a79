import type { BucketStore } from "./blob-store.ts";
import type { S3Options } from "./s3-client.ts";

/** Loads the client of S3 with the first bucket: it is one of the largest libraries, and most processes never need it. */
export async function openS3BlobStore(options: S3Options): Promise<BucketStore> {
  const { settings, network } = options;
  // An address given as a number is never looked up, so it is checked here.
  if (settings.endpointUrl !== null) await network.checkUrl(settings.endpointUrl);
  const { S3BlobStore } = await import("./s3-blob-store.ts");
  return new S3BlobStore(options);
}
