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
  const { settings, network, signal } = options;
  const place = { bucket: settings.bucket ?? "", host: hostOf(settings) };
  // An address given as a number is never looked up, so it is checked here.
  if (settings.endpointUrl !== null) await network.checkUrl(settings.endpointUrl);
  const client = createClient(options);
  const Bucket = settings.bucketInEndpoint ? settings.endpointUrl! : settings.bucket!;
  const sendOptions = signal ? { abortSignal: signal } : {};
  const guarded = <T>(work: Promise<T>) => rethrown(work, place, signal);

  return {
    put: async (key, body, put) => {
      const input = { Bucket, Key: key, Body: body, ...objectArguments(settings, put) };
      await guarded(client.send(new PutObjectCommand(input), sendOptions));
    },
    beginUpload: async (key, put) => {
      const input = { Bucket, Key: key, ...objectArguments(settings, put) };
      const begun = await guarded(client.send(new CreateMultipartUploadCommand(input), sendOptions));
      const upload = { Bucket, Key: key, UploadId: begun.UploadId };
      return multipartUpload(client, upload, { ...options, place });
    },
    abortUploads: (prefix) => guarded(abortUploads(client, { Bucket, Prefix: prefix }, sendOptions)),
    head: async (key) => {
      try {
        const found = await client.send(new HeadObjectCommand({ Bucket, Key: key }), sendOptions);
        return { bytes: found.ContentLength ?? 0, metadata: found.Metadata ?? {} };
      } catch (error) {
        if ((error as { $metadata?: { httpStatusCode?: number } }).$metadata?.httpStatusCode === 404)
          return null;
        signal?.throwIfAborted();
        throw s3Failure(error, place);
      }
    },
    remove: async (key) => {
      await guarded(client.send(new DeleteObjectCommand({ Bucket, Key: key }), sendOptions));
    },
    close: () => client.destroy(),
  };
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

function multipartUpload(
  client: S3Client,
  upload: { Bucket: string; Key: string; UploadId: string | undefined },
  options: MultipartOptions,
): BlobUpload {
  const { signal, place, parallel = 4 } = options;
  const sendOptions = signal ? { abortSignal: signal } : {};
  const parts: { PartNumber: number; ETag: string | undefined }[] = [];
  const running = new Set<Promise<void>>();
  let failure: unknown;

  const send = async (number: number, body: Buffer) => {
    const command = new UploadPartCommand({ ...upload, PartNumber: number, Body: body });
    const sent = await client.send(command, sendOptions);
    parts.push({ PartNumber: number, ETag: sent.ETag });
  };
  const throwFailure = () => {
    signal?.throwIfAborted();
    if (failure !== undefined) throw s3Failure(failure, place);
  };
  let count = 0;

  return {
    async addPart(body, stored) {
      throwFailure();
      while (running.size >= parallel) await Promise.race(running);
      count += 1;
      const work: Promise<void> = send(count, body)
        .then(() => stored?.())
        .catch((error: unknown) => {
          failure ??= error;
        })
        .finally(() => running.delete(work));
      running.add(work);
    },
    async complete() {
      await Promise.all(running);
      throwFailure();
      const ordered = parts.toSorted((a, b) => a.PartNumber - b.PartNumber);
      const command = new CompleteMultipartUploadCommand({ ...upload, MultipartUpload: { Parts: ordered } });
      await rethrown(client.send(command, sendOptions), place, signal);
    },
    async abort() {
      await Promise.all(running);
      // Without the caller's signal, which is most often why this happens. What stays is removed by the bucket's
      // own rules for unfinished uploads.
      const patience = { abortSignal: AbortSignal.timeout(5_000) };
      await client.send(new AbortMultipartUploadCommand(upload), patience).catch(() => undefined);
    },
  };
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
