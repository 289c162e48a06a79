import { randomUUID } from "node:crypto";
import type { BucketSettings, BucketSink } from "../../platform/blob/blob-store.ts";
import { openS3BlobStore } from "../../platform/blob/open-s3-blob-store.ts";
import { AppError } from "../../platform/errors.ts";
import type { Logger } from "../../platform/logger.ts";
import type { NetworkGuard } from "../../platform/network/network-guard.ts";

export type DestinationCheckOptions = {
  settings: BucketSettings;
  prefix: string;
  network: NetworkGuard;
  logger: Logger;
  timeoutMs: number;
};

/**
 * Writes a small object into a `tmp` folder under the prefix and removes it again: the only proof that an export
 * will be able to write. Removing may not be permitted; the object then stays.
 */
export async function checkDestination(options: DestinationCheckOptions): Promise<void> {
  const deadline = AbortSignal.timeout(options.timeoutMs);
  let store: BucketSink | undefined;
  try {
    store = await openS3BlobStore({
      settings: options.settings,
      network: options.network,
      signal: deadline,
      connectTimeoutMs: Math.min(5_000, options.timeoutMs),
      attempts: 2,
    });
    const key = `${options.prefix === "" ? "" : `${options.prefix}/`}tmp/${randomUUID()}.txt`;
    await store.put(key, Buffer.from("Treadle checked that it can write here.\n"), {
      contentType: "text/plain",
    });
    await store.remove(key).catch((error: unknown) => {
      options.logger.info({ err: error, key }, "the test object of a destination could not be removed");
    });
  } catch (error) {
    throw deadline.aborted ? storageSilent(options.settings) : error;
  } finally {
    store?.close();
  }
}

export function storageSilent(settings: BucketSettings): AppError {
  const host = settings.endpointUrl === null ? "AWS S3" : new URL(settings.endpointUrl).host;
  return new AppError({
    code: "blob.unreachable",
    kind: "invalid",
    message: `The storage at ${host} did not respond in time. Check endpoint_url, and that it can be reached from here.`,
  });
}
