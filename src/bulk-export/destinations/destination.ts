import type {
  AddressingStyle,
  BlobCredentials,
  BucketSettings,
  ChecksumMode,
} from "../../platform/blob/blob-store.ts";
import { AppError } from "../../platform/errors.ts";

/** As stored and as sent back. */
export type DestinationConfig = {
  bucket_name: string | null;
  prefix: string;
  region: string | null;
  endpoint_url: string | null;
  include_bucket_in_prefix: boolean;
  s3_additional_kwargs: Record<string, string | boolean> | null;
  config_kwargs_s3: {
    addressing_style?: AddressingStyle | undefined;
    use_accelerate_endpoint?: boolean | undefined;
    payload_signing_enabled?: boolean | undefined;
    us_east_1_regional_endpoint?: "legacy" | "regional" | undefined;
  } | null;
  /** Whether objects are sent with a checksum: some storages refuse it, locked buckets demand it. */
  request_checksum_calculation: ChecksumMode | null;
};

export type DestinationCredentials = {
  access_key_id: string;
  secret_access_key: string;
  session_token?: string | null | undefined;
};

export type Destination = {
  id: string;
  workspace_id: string;
  destination_type: string;
  display_name: string;
  config: DestinationConfig;
  credentials_sealed: string | null;
  credentials_keys: string[];
  created_at: string;
  updated_at: string;
};

/** What may be sent with every object. Keys that would be secrets themselves are not among them. */
export const putArgumentNames = [
  "ACL",
  "BucketKeyEnabled",
  "CacheControl",
  "ExpectedBucketOwner",
  "GrantFullControl",
  "GrantRead",
  "GrantReadACP",
  "GrantWriteACP",
  "ObjectLockLegalHoldStatus",
  "ObjectLockMode",
  "ObjectLockRetainUntilDate",
  "RequestPayer",
  "SSEKMSEncryptionContext",
  "SSEKMSKeyId",
  "ServerSideEncryption",
  "StorageClass",
  "Tagging",
] as const;

/** The context the credentials are sealed with. */
export function destinationContext(id: string): string {
  return `bulk_export_destinations:${id}`;
}

export function credentialKeys(credentials: DestinationCredentials | null): string[] {
  if (credentials === null) return [];
  return Object.entries(credentials)
    .filter(([, value]) => value !== null && value !== undefined)
    .map(([name]) => name);
}

export function bucketSettings(
  config: DestinationConfig,
  credentials: DestinationCredentials | null,
): BucketSettings {
  return {
    bucket: config.bucket_name,
    region: config.region,
    endpointUrl: config.endpoint_url,
    bucketInEndpoint: !config.include_bucket_in_prefix && config.endpoint_url !== null,
    addressingStyle: config.config_kwargs_s3?.addressing_style ?? "auto",
    accelerate: config.config_kwargs_s3?.use_accelerate_endpoint ?? false,
    checksumMode: config.request_checksum_calculation,
    signBodies: config.config_kwargs_s3?.payload_signing_enabled ?? false,
    credentials: credentials === null ? null : blobCredentials(credentials),
    putArguments: config.s3_additional_kwargs ?? {},
  };
}

function blobCredentials(credentials: DestinationCredentials): BlobCredentials {
  return {
    accessKeyId: credentials.access_key_id,
    secretAccessKey: credentials.secret_access_key,
    sessionToken: credentials.session_token ?? undefined,
  };
}

/** Without slashes at either end: keys are made by joining. */
export function normalPrefix(prefix: string): string {
  return prefix.replace(/^\/+|\/+$/g, "");
}

/** A path as answers show it: the bucket first, no scheme. */
export function pathInBucket(config: DestinationConfig, key: string): string {
  return config.bucket_name === null ? key : `${config.bucket_name}/${key}`;
}

/** An object's address: `s3://bucket/key`, or below the endpoint where that names the bucket. */
export function addressInBucket(config: DestinationConfig, key: string): string {
  if (config.bucket_name !== null) return `s3://${config.bucket_name}/${key}`;
  return `${config.endpoint_url?.replace(/\/+$/, "")}/${key}`;
}

export function destinationNotFound(id: string): AppError {
  return new AppError({
    code: "bulk_export.destination_not_found",
    kind: "not_found",
    message: `Bulk export destination ID ${id} not found.`,
  });
}
