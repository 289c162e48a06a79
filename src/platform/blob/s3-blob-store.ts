import { Agent as HttpAgent } from "node:http";
import { Agent as HttpsAgent } from "node:https";
import {
  AbortMultipartUploadCommand,
  CompleteMultipartUploadCommand,
  CreateMultipartUploadCommand,
  DeleteObjectCommand,
  HeadObjectCommand,
  ListMultipartUploadsCommand,
  PutObjectCommand,
  S3Client,
  UploadPartCommand,
} from "@aws-sdk/client-s3";
import type { NetworkGuard } from "../network/network-guard.ts";
import type { BlobStore, BlobUpload, BucketSettings, PutOptions } from "./blob-store.ts";
import { type FailurePlace, s3Failure } from "./s3-failure.ts";

export type S3Options = {
  settings: BucketSettings;
  network: NetworkGuard;
  signal?: AbortSignal;
  /** Connections, and parts on their way, at once. */
  parallel?: number;
  connectTimeoutMs?: number;
  /** The longest silence of the storage within one request. */
  silenceTimeoutMs?: number;
  /** Attempts per request, for what the storage itself calls temporary. */
  attempts?: number;
};

const defaultRegion = "us-east-1";

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
    this.#client = createClient(options);
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
    return rethrown(work, this.#place, this.#options.signal);
  }
}

function sendOptions({ signal }: Pick<S3Options, "signal">): { abortSignal?: AbortSignal } {
  return signal ? { abortSignal: signal } : {};
}

function createClient(options: S3Options): S3Client {
  const { settings, network, parallel = 4 } = options;
  const custom = settings.endpointUrl !== null;
  const agent = { keepAlive: true, maxSockets: parallel, lookup: network.lookup };
  const silence = options.silenceTimeoutMs ?? 60_000;
  const client = new S3Client({
    region: settings.region ?? defaultRegion,
    ...(settings.endpointUrl !== null && !settings.bucketInEndpoint
      ? { endpoint: settings.endpointUrl }
      : {}),
    bucketEndpoint: settings.bucketInEndpoint,
    // Most storages that are not AWS have no name per bucket.
    forcePathStyle: settings.addressingStyle === "path" || (settings.addressingStyle === "auto" && custom),
    useAccelerateEndpoint: settings.accelerate,
    // Some storages refuse checksums they do not know.
    requestChecksumCalculation: checksumMode(settings),
    responseChecksumValidation: "WHEN_REQUIRED",
    ...(settings.credentials
      ? {
          credentials: {
            accessKeyId: settings.credentials.accessKeyId,
            secretAccessKey: settings.credentials.secretAccessKey,
            ...(settings.credentials.sessionToken ? { sessionToken: settings.credentials.sessionToken } : {}),
          },
        }
      : {}),
    maxAttempts: options.attempts ?? 3,
    requestHandler: {
      httpAgent: new HttpAgent(agent),
      httpsAgent: new HttpsAgent(agent),
      connectionTimeout: options.connectTimeoutMs ?? 10_000,
      requestTimeout: silence,
      throwOnRequestTimeout: true,
      socketTimeout: silence,
    },
  });
  if (!settings.signBodies) leaveBodiesUnsigned(client);
  return client;
}

/** What other clients do: over TLS the signature covers the headers, and the connection protects the body. */
function leaveBodiesUnsigned(client: S3Client): void {
  client.middlewareStack.add(
    (next) => (args) => {
      const request = args.request as { protocol?: string; headers?: Record<string, string>; body?: unknown };
      if (request.protocol === "https:" && request.headers && Buffer.isBuffer(request.body)) {
        request.headers["x-amz-content-sha256"] ??= "UNSIGNED-PAYLOAD";
      }
      return next(args);
    },
    { step: "build", name: "leaveBodiesUnsigned", priority: "low" },
  );
}

function checksumMode(settings: BucketSettings): "WHEN_SUPPORTED" | "WHEN_REQUIRED" {
  const mode = settings.checksumMode ?? (settings.endpointUrl === null ? "when_supported" : "when_required");
  return mode === "when_supported" ? "WHEN_SUPPORTED" : "WHEN_REQUIRED";
}

function objectArguments(settings: BucketSettings, put: PutOptions = {}) {
  return {
    ...settings.putArguments,
    ...(put.contentType ? { ContentType: put.contentType } : {}),
    ...(put.metadata ? { Metadata: put.metadata } : {}),
  };
}

type MultipartOptions = S3Options & { place: FailurePlace };

class MultipartUpload implements BlobUpload {
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
    await rethrown(this.#client.send(command, sendOptions(this.#options)), place, signal);
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

async function abortUploads(
  client: S3Client,
  place: { Bucket: string | undefined; Prefix: string },
  sendOptions: { abortSignal?: AbortSignal },
): Promise<number> {
  const { Bucket } = place;
  let aborted = 0;
  let marker: { KeyMarker?: string | undefined; UploadIdMarker?: string | undefined } = {};
  for (;;) {
    const page = await client.send(new ListMultipartUploadsCommand({ ...place, ...marker }), sendOptions);
    for (const { Key, UploadId } of page.Uploads ?? []) {
      // Not every storage heeds the prefix.
      if (!Key?.startsWith(place.Prefix)) continue;
      await client.send(new AbortMultipartUploadCommand({ Bucket, Key, UploadId }), sendOptions);
      aborted += 1;
    }
    if (!page.IsTruncated) return aborted;
    marker = { KeyMarker: page.NextKeyMarker, UploadIdMarker: page.NextUploadIdMarker };
  }
}

async function rethrown<T>(
  work: Promise<T>,
  place: FailurePlace,
  signal: AbortSignal | undefined,
): Promise<T> {
  try {
    return await work;
  } catch (error) {
    signal?.throwIfAborted();
    throw s3Failure(error, place);
  }
}

function hostOf(settings: BucketSettings): string {
  if (settings.endpointUrl !== null) return new URL(settings.endpointUrl).host;
  return `s3.${settings.region ?? defaultRegion}.amazonaws.com`;
}
