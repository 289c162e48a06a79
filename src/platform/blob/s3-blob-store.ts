import {
  CreateMultipartUploadCommand,
  DeleteObjectCommand,
  HeadObjectCommand,
  PutObjectCommand,
  type S3Client,
} from "@aws-sdk/client-s3";
import type { BlobStore, BlobUpload, BucketSettings, PutOptions } from "./blob-store.ts";
import { createS3Client, hostOf, type S3Options, sendOptions } from "./s3-client.ts";
import { type FailurePlace, s3Failure, withS3Failure } from "./s3-failure.ts";
import { abortUploads, MultipartUpload } from "./s3-upload.ts";

/** A bucket on any S3-compatible storage. Every connection goes through the network guard. */
export async function openS3BlobStore(options: S3Options): Promise<BlobStore> {
  const { settings, network } = options;
  // An address given as a number is never looked up, so it is checked here.
  if (settings.endpointUrl !== null) await network.checkUrl(settings.endpointUrl);
  return new S3BlobStore(options);
}

class S3BlobStore implements BlobStore {
  readonly #options: S3Options;
  readonly #client: S3Client;
  readonly #place: FailurePlace;
  readonly #bucket: string;

  constructor(options: S3Options) {
    const { settings } = options;
    this.#options = options;
    this.#client = createS3Client(options);
    this.#place = { bucket: settings.bucket ?? "", host: hostOf(settings) };
    this.#bucket = settings.bucketInEndpoint ? settings.endpointUrl! : settings.bucket!;
  }

  async put(key: string, body: Buffer, put?: PutOptions): Promise<void> {
    const input = { Body: body, ...this.#objectInput(key, put) };
    await this.#guarded(this.#client.send(new PutObjectCommand(input), sendOptions(this.#options)));
  }

  async beginUpload(key: string, put?: PutOptions): Promise<BlobUpload> {
    const command = new CreateMultipartUploadCommand(this.#objectInput(key, put));
    const begun = await this.#guarded(this.#client.send(command, sendOptions(this.#options)));
    const upload = { Bucket: this.#bucket, Key: key, UploadId: begun.UploadId };
    return new MultipartUpload(this.#client, upload, { ...this.#options, place: this.#place });
  }

  abortUploads(prefix: string): Promise<number> {
    const place = { Bucket: this.#bucket, Prefix: prefix };
    return this.#guarded(abortUploads(this.#client, place, sendOptions(this.#options)));
  }

  async head(key: string): Promise<{ bytes: number; metadata: Record<string, string> } | null> {
    try {
      const command = new HeadObjectCommand({ Bucket: this.#bucket, Key: key });
      const found = await this.#client.send(command, sendOptions(this.#options));
      return { bytes: found.ContentLength ?? 0, metadata: found.Metadata ?? {} };
    } catch (error) {
      if ((error as { $metadata?: { httpStatusCode?: number } }).$metadata?.httpStatusCode === 404)
        return null;
      this.#options.signal?.throwIfAborted();
      throw s3Failure(error, this.#place);
    }
  }

  async remove(key: string): Promise<void> {
    const command = new DeleteObjectCommand({ Bucket: this.#bucket, Key: key });
    await this.#guarded(this.#client.send(command, sendOptions(this.#options)));
  }

  close(): void {
    this.#client.destroy();
  }

  #objectInput(key: string, put?: PutOptions) {
    return { Bucket: this.#bucket, Key: key, ...objectArguments(this.#options.settings, put) };
  }

  #guarded<T>(work: Promise<T>): Promise<T> {
    return withS3Failure(work, this.#place, this.#options.signal);
  }
}

function objectArguments(settings: BucketSettings, put: PutOptions = {}) {
  return {
    ...settings.putArguments,
    ...(put.contentType ? { ContentType: put.contentType } : {}),
    ...(put.metadata ? { Metadata: put.metadata } : {}),
  };
}
