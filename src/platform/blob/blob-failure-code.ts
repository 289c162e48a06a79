/** Failures of a storage that an operator or the bucket's owner can fix. */
export const blobFailureCodes = [
  "blob.unknown_key",
  "blob.bad_secret",
  "blob.bad_token",
  "blob.no_credentials",
  "blob.no_bucket",
  "blob.bad_bucket_name",
  "blob.wrong_region",
  "blob.no_permission",
  "blob.full",
  "blob.refused",
  "blob.unreachable",
  "blob.busy",
] as const;
export type BlobFailureCode = (typeof blobFailureCodes)[number];
