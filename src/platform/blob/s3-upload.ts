import {
  AbortMultipartUploadCommand,
  CompleteMultipartUploadCommand,
  ListMultipartUploadsCommand,
  type S3Client,
  UploadPartCommand,
} from "@aws-sdk/client-s3";
import type { BlobUpload } from "./blob-store.ts";
import { type S3Options, sendOptions } from "./s3-client.ts";
import { type FailurePlace, s3Failure, withS3Failure } from "./s3-failure.ts";

type MultipartOptions = S3Options & { place: FailurePlace };

/** One object, sent in parts beside one another. */
export class MultipartUpload implements BlobUpload {
  readonly #client: S3Client;
  readonly #upload: { Bucket: string; Key: string; UploadId: string | undefined };
  readonly #options: MultipartOptions;
  readonly #parts: { PartNumber: number; ETag: string | undefined }[] = [];
  readonly #running = new Set<Promise<void>>();
  #failure: unknown;
  #count = 0;

  constructor(
    client: S3Client,
    upload: { Bucket: string; Key: string; UploadId: string | undefined },
    options: MultipartOptions,
  ) {
    this.#client = client;
    this.#upload = upload;
    this.#options = options;
  }

  async addPart(body: Buffer, stored?: () => void): Promise<void> {
    const { parallel = 4 } = this.#options;
    this.#throwFailure();
    while (this.#running.size >= parallel) await Promise.race(this.#running);
    this.#count += 1;
    const work: Promise<void> = this.#send(this.#count, body)
      .then(() => stored?.())
      .catch((error: unknown) => {
        this.#failure ??= error;
      })
      .finally(() => this.#running.delete(work));
    this.#running.add(work);
  }

  async complete(): Promise<void> {
    const { place, signal } = this.#options;
    await Promise.all(this.#running);
    this.#throwFailure();
    const Parts = this.#parts.toSorted((a, b) => a.PartNumber - b.PartNumber);
    const command = new CompleteMultipartUploadCommand({ ...this.#upload, MultipartUpload: { Parts } });
    await withS3Failure(this.#client.send(command, sendOptions(this.#options)), place, signal);
  }

  async abort(): Promise<void> {
    await Promise.all(this.#running);
    // Without the caller's signal, which is most often why this happens. What stays is removed by the bucket's
    // own rules for unfinished uploads.
    const patience = { abortSignal: AbortSignal.timeout(5_000) };
    await this.#client.send(new AbortMultipartUploadCommand(this.#upload), patience).catch(() => undefined);
  }

  async #send(number: number, body: Buffer): Promise<void> {
    const command = new UploadPartCommand({ ...this.#upload, PartNumber: number, Body: body });
    const sent = await this.#client.send(command, sendOptions(this.#options));
    this.#parts.push({ PartNumber: number, ETag: sent.ETag });
  }

  #throwFailure(): void {
    this.#options.signal?.throwIfAborted();
    if (this.#failure !== undefined) throw s3Failure(this.#failure, this.#options.place);
  }
}

/** Uploads that were begun and never ended; answers how many there were. */
export async function abortUploads(
  client: S3Client,
  place: { Bucket: string | undefined; Prefix: string },
  before: Date | undefined,
  sendOptions: { abortSignal?: AbortSignal },
): Promise<number> {
  const { Bucket } = place;
  let aborted = 0;
  let marker: { KeyMarker?: string | undefined; UploadIdMarker?: string | undefined } = {};
  for (;;) {
    const page = await client.send(new ListMultipartUploadsCommand({ ...place, ...marker }), sendOptions);
    for (const { Key, UploadId, Initiated } of page.Uploads ?? []) {
      // Not every storage heeds the prefix.
      if (!Key?.startsWith(place.Prefix)) continue;
      if (before !== undefined && (Initiated === undefined || Initiated >= before)) continue;
      await client.send(new AbortMultipartUploadCommand({ Bucket, Key, UploadId }), sendOptions);
      aborted += 1;
    }
    if (!page.IsTruncated) return aborted;
    marker = { KeyMarker: page.NextKeyMarker, UploadIdMarker: page.NextUploadIdMarker };
  }
}
