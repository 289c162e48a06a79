import type { BucketSettings } from "./blob-store.ts";

/** Where the platform keeps its own blobs. */
export type BlobPlace =
  | { kind: "folder"; folder: string }
  /** Keys begin with the prefix, which is empty or ends with a slash. */
  | { kind: "s3"; bucket: BucketSettings; prefix: string };
