import { Agent as HttpAgent } from "node:http";
import { Agent as HttpsAgent } from "node:https";
import { S3Client } from "@aws-sdk/client-s3";
import type { NetworkGuard } from "../network/network-guard.ts";
import type { BucketSettings } from "./blob-store.ts";

export type S3Options = {
  settings: BucketSettings;
  /** Of every key, which it is no part of; for the platform's own bucket. */
  prefix?: string;
  owner?: "caller" | "platform";
  network: NetworkGuard;
  signal?: AbortSignal;
  /** Connections, and parts of one upload on their way, at once. */
  parallel?: number;
  /** Connections, where they are to be more. */
  sockets?: number;
  connectTimeoutMs?: number;
  /** The longest silence of the storage within one request. */
  silenceTimeoutMs?: number;
  /** Attempts per request, for what the storage itself calls temporary. */
  attempts?: number;
};

const defaultRegion = "us-east-1";

/** Every connection of it goes through the network guard. */
export function createS3Client(options: S3Options): S3Client {
  const { settings, network, parallel = 4, sockets = parallel } = options;
  const custom = settings.endpointUrl !== null;
  const agent = { keepAlive: true, maxSockets: sockets, lookup: network.lookup };
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

export function sendOptions({ signal }: Pick<S3Options, "signal">): { abortSignal?: AbortSignal } {
  return signal ? { abortSignal: signal } : {};
}

export function hostOf(settings: BucketSettings): string {
  if (settings.endpointUrl !== null) return new URL(settings.endpointUrl).host;
  return `s3.${settings.region ?? defaultRegion}.amazonaws.com`;
}
