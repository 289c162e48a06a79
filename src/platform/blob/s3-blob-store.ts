import type { Readable } from "node:stream";
import {
  CreateMultipartUploadCommand,
  DeleteObjectCommand,
  GetObjectCommand,
  HeadObjectCommand,
  ListObjectsV2Command,
  PutObjectCommand,
  type S3Client,
} from "@aws-sdk/client-s3";
import type {
  BlobBody,
  BlobEntry,
  BlobUpload,
  BucketHead,
  BucketSettings,
  BucketStore,
  GetOptions,
  PutOptions,
} from "./blob-store.ts";
import { emptyBody, readableOf } from "./blob-stream.ts";
import { createS3Client, hostOf, type S3Options, sendOptions } from "./s3-client.ts";
import { type FailurePlace, s3Failure, withS3Failure } from "./s3-failure.ts";
import { signedUrlOf } from "./s3-signed-url.ts";
import { abortUploads, MultipartUpload } from "./s3-upload.ts";

/** A bucket on any S3-compatible storage. Every connection goes through the network guard. `openS3BlobStore` makes it. */
export class S3BlobStore implements BucketStore {
  readonly #options: S3Options;
  readonly #client: S3Client;
  readonly #place: FailurePlace;
  readonly #bucket: string;
  readonly #prefix: string;

  constructor(options: S3Options) {
    const { settings } = options;
    this.#options = options;
    this.#client = createS3Client(options);
    this.#place = {
      bucket: settings.bucket ?? "",
      host: hostOf(settings),
      owner: options.owner ?? "caller",
    };
    this.#bucket = settings.bucketInEndpoint ? settings.endpointUrl! : settings.bucket!;
    this.#prefix = options.prefix ?? "";
  }

  async put(key: string, body: Buffer, put?: PutOptions): Promise<void> {
    const input = { Body: body, ...this.#objectInput(key, put) };
    await this.#guarded(this.#client.send(new PutObjectCommand(input), sendOptions(this.#options)));
  }

  async beginUpload(key: string, put?: PutOptions): Promise<BlobUpload> {
    const command = new CreateMultipartUploadCommand(this.#objectInput(key, put));
    const begun = await this.#guarded(this.#client.send(command, sendOptions(this.#options)));
    const upload = { ...this.#objectOf(key), UploadId: begun.UploadId };
    return new MultipartUpload(this.#client, upload, { ...this.#options, place: this.#place });
  }

  abortUploads(prefix: string, before?: Date): Promise<number> {
    const place = { Bucket: this.#bucket, Prefix: `${this.#prefix}${prefix}` };
    return this.#guarded(abortUploads(this.#client, place, before, sendOptions(this.#options)));
  }

  async head(key: string): Promise<BucketHead | null> {
    try {
      const command = new HeadObjectCommand(this.#objectOf(key));
      const found = await this.#client.send(command, sendOptions(this.#options));
      return { bytes: found.ContentLength ?? 0, metadata: found.Metadata ?? {} };
    } catch (error) {
      if (statusOf(error) === 404) return null;
      this.#options.signal?.throwIfAborted();
      throw s3Failure(error, this.#place);
    }
  }

  async get(key: string, { range, signal }: GetOptions = {}): Promise<BlobBody | null> {
    // No storage has a range of no bytes.
    if (range?.bytes === 0) return (await this.head(key)) === null ? null : emptyBody();
    const Range = range && `bytes=${range.start}-${range.start + range.bytes - 1}`;
    const command = new GetObjectCommand({ ...this.#objectOf(key), ...(Range ? { Range } : {}) });
    try {
      const found = await this.#client.send(command, signal ? { abortSignal: signal } : {});
      const body = found.Body as Readable;
      // A connection that is cut in the middle is the storage's failure too.
      const stream = readableOf(body, (error) => s3Failure(error, this.#place), signal);
      return { bytes: found.ContentLength ?? 0, stream };
    } catch (error) {
      signal?.throwIfAborted();
      const { name } = error as { name?: string };
      if (name === "NoSuchKey") return null;
      if (statusOf(error) === 416) return emptyBody();
      throw s3Failure(error, this.#place);
    }
  }

  async list(prefix: string, { after, limit }: { after?: string | undefined; limit: number }) {
    const found: BlobEntry[] = [];
    let last = after;
    while (found.length < limit) {
      const command = new ListObjectsV2Command({
        Bucket: this.#bucket,
        Prefix: `${this.#prefix}${prefix}`,
        MaxKeys: Math.min(1_000, limit - found.length),
        ...(last === undefined ? {} : { StartAfter: `${this.#prefix}${last}` }),
      });
      const page = await this.#guarded(this.#client.send(command, sendOptions(this.#options)));
      const entries = (page.Contents ?? []).map(({ Key = "", Size = 0, LastModified }) => ({
        key: Key.slice(this.#prefix.length),
        bytes: Size,
        modifiedAt: LastModified ?? new Date(),
      }));
      found.push(...entries);
      last = entries.at(-1)?.key;
      if (!page.IsTruncated || last === undefined) break;
    }
    return found;
  }

  async remove(key: string): Promise<void> {
    const command = new DeleteObjectCommand(this.#objectOf(key));
    await this.#guarded(this.#client.send(command, sendOptions(this.#options)));
  }

  signedUrl(key: string, seconds: number, { fileName }: { fileName?: string } = {}): Promise<string> {
    const saved =
      fileName === undefined ? {} : { ResponseContentDisposition: `attachment; filename="${fileName}"` };
    return this.#guarded(signedUrlOf(this.#client, { ...this.#objectOf(key), ...saved }, seconds));
  }

  close(): void {
    this.#client.destroy();
  }

  #objectOf(key: string) {
    return { Bucket: this.#bucket, Key: `${this.#prefix}${key}` };
  }

  #objectInput(key: string, put?: PutOptions) {
    return { ...this.#objectOf(key), ...objectArguments(this.#options.settings, put) };
  }

  #guarded<T>(work: Promise<T>): Promise<T> {
    return withS3Failure(work, this.#place, this.#options.signal);
  }
}

function statusOf(error: unknown): number | undefined {
  return (error as { $metadata?: { httpStatusCode?: number } }).$metadata?.httpStatusCode;
}

function objectArguments(settings: BucketSettings, put: PutOptions = {}) {
  return {
    ...settings.putArguments,
    ...(put.contentType ? { ContentType: put.contentType } : {}),
    ...(put.metadata ? { Metadata: put.metadata } : {}),
  };
}
