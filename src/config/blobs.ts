import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { z } from "zod";
import type { BlobPlace } from "../platform/blob/blob-place.ts";
import { addressingStyles } from "../platform/blob/blob-store.ts";
import { text, url } from "./fields.ts";
import { invalidSettings } from "./parse-settings.ts";

const storageUrl = /^(s3:\/\/[a-z0-9][a-z0-9._-]{1,254}(\/[^?#\s]*)?|file:\/\/\/[^?#]*)$/i;

/** Settings of the storage for uploads, built deployments and old logs. */
export const blobSettings = {
  TREADLE_BLOB_URL: z
    .string()
    .regex(storageUrl, "must be s3://bucket, s3://bucket/prefix or file:///path")
    .optional()
    .describe(
      "Storage for uploads, built deployments and old logs: s3://bucket/prefix or file:///path. Required where several servers share the work; default: the data folder.",
    ),
  TREADLE_BLOB_ENDPOINT_URL: url
    .optional()
    .describe("Endpoint of the S3 storage, if it is not AWS, for example https://minio.example.com:9000."),
  AWS_ENDPOINT_URL_S3: url.optional().describe("Used when TREADLE_BLOB_ENDPOINT_URL is not set."),
  TREADLE_BLOB_REGION: text.optional().describe("Region of the bucket; default: us-east-1."),
  AWS_REGION: text.optional().describe("Used when TREADLE_BLOB_REGION is not set."),
  TREADLE_BLOB_ACCESS_KEY_ID: text
    .optional()
    .describe(
      "Access key of the bucket. Without it, the machine's own credentials are used: AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or its role.",
    ),
  TREADLE_BLOB_SECRET_ACCESS_KEY: text.optional().describe("Secret of TREADLE_BLOB_ACCESS_KEY_ID."),
  TREADLE_BLOB_SESSION_TOKEN: text
    .optional()
    .describe("Session token of TREADLE_BLOB_ACCESS_KEY_ID, if it is a temporary one."),
  TREADLE_BLOB_ADDRESSING_STYLE: z
    .enum(addressingStyles)
    .default("auto")
    .describe(
      "Where the bucket's name goes in the address: path, virtual (in the host), or auto: path with an endpoint, virtual without.",
    ),
};

type BlobEnvironment = z.output<z.ZodObject<typeof blobSettings>>;

export type BlobConfig = {
  place: BlobPlace;
  /** Whether TREADLE_BLOB_URL is set: what other servers need is then there, and not in this one's data folder. */
  isShared: boolean;
};

export function blobConfigOf(env: BlobEnvironment, { dataDir }: { dataDir: string }): BlobConfig {
  const given = env.TREADLE_BLOB_URL;
  if (given === undefined)
    return { place: { kind: "folder", folder: join(dataDir, "deployments") }, isShared: false };
  if (given.startsWith("file:"))
    return { place: { kind: "folder", folder: fileURLToPath(given) }, isShared: true };
  const [bucket = "", ...path] = given.slice("s3://".length).split("/");
  const prefix = path
    .filter((part) => part !== "")
    .map((part) => `${part}/`)
    .join("");
  return {
    place: {
      kind: "s3",
      prefix,
      bucket: {
        bucket,
        region: env.TREADLE_BLOB_REGION ?? env.AWS_REGION ?? null,
        endpointUrl: env.TREADLE_BLOB_ENDPOINT_URL ?? env.AWS_ENDPOINT_URL_S3 ?? null,
        bucketInEndpoint: false,
        addressingStyle: env.TREADLE_BLOB_ADDRESSING_STYLE,
        accelerate: false,
        checksumMode: null,
        signBodies: false,
        credentials: credentialsOf(env),
        putArguments: {},
      },
    },
    isShared: true,
  };
}

function credentialsOf(env: BlobEnvironment) {
  const { TREADLE_BLOB_ACCESS_KEY_ID: accessKeyId, TREADLE_BLOB_SECRET_ACCESS_KEY: secretAccessKey } = env;
  if (accessKeyId === undefined && secretAccessKey === undefined) return null;
  if (accessKeyId === undefined || secretAccessKey === undefined) {
    throw invalidSettings(
      "TREADLE_BLOB_ACCESS_KEY_ID and TREADLE_BLOB_SECRET_ACCESS_KEY go together: set both, or none to use the machine's own credentials.",
    );
  }
  return { accessKeyId, secretAccessKey, sessionToken: env.TREADLE_BLOB_SESSION_TOKEN };
}
