import type { BlobStore } from "../../platform/blob/blob-store.ts";
import { operatorWords } from "../../platform/blob/platform-failure.ts";
import { isBlobFailure } from "../../platform/blob/s3-failure.ts";
import type { Logger } from "../../platform/logger.ts";

/**
 * Removes uploads that nobody will complete. Not every bucket lets us list them; then the bucket's own rules remove
 * them, and the rest continues.
 */
export async function freeUploads(
  blobs: BlobStore,
  prefix: string,
  logger: Logger,
  before?: Date,
): Promise<void> {
  try {
    await blobs.abortUploads(prefix, before);
  } catch (error) {
    if (!isBlobFailure(error)) throw error;
    logger.warn({ prefix, reason: operatorWords(error) }, "unfinished uploads could not be removed");
  }
}
