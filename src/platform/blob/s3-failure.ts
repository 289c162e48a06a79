import { AppError, sameAs } from "../errors.ts";
import type { BlobFailureCode } from "./blob-failure-code.ts";
import { platformFailure } from "./platform-failure.ts";

/** What the S3 client throws, as far as it can be known. */
type S3Fault = {
  name?: string;
  Code?: string;
  code?: string;
  message?: string;
  Region?: string;
  BucketRegion?: string;
  $metadata?: { httpStatusCode?: number };
  $response?: { headers?: Record<string, string>; statusCode?: number };
};

export type FailurePlace = {
  bucket: string;
  host: string;
  /** Whose bucket it is: the caller's, or the platform's own, whose failures do not concern callers. */
  owner: "caller" | "platform";
};

/**
 * Distinguishes what the owner of the bucket has to change. In a caller's bucket only temporary failures are retryable.
 */
export function s3Failure(error: unknown, place: FailurePlace): AppError {
  if (error instanceof AppError) return error;
  const guarded = guardRefusal(error);
  if (guarded) return guarded;
  const fault = (error ?? {}) as S3Fault;
  const code = classify(fault);
  const message = `${words(code, fault, place)}${ownWords(fault)}`;
  if (place.owner === "platform") return platformFailure(code, message, error);
  const retryable = code === "blob.unreachable" || code === "blob.busy";
  return new AppError({ code, kind: "invalid", retryable, message, cause: error });
}

function classify(fault: S3Fault): BlobFailureCode {
  const name = fault.Code ?? fault.name ?? "";
  const status = fault.$metadata?.httpStatusCode ?? fault.$response?.statusCode;
  const known = byName[name];
  if (known) return known;
  if (/credential/i.test(name) || /credential is missing|credentials? provider/i.test(fault.message ?? "")) {
    return "blob.no_credentials";
  }
  if (isConnectionFault(fault)) return "blob.unreachable";
  if (status === undefined) return "blob.unreachable";
  if (status === 301 || status === 307) return "blob.wrong_region";
  if (status === 401 || status === 403) return "blob.no_permission";
  if (status === 507) return "blob.full";
  if (status === 408 || status === 429 || status >= 500) return "blob.busy";
  return "blob.refused";
}

const byName: Record<string, BlobFailureCode> = {
  InvalidAccessKeyId: "blob.unknown_key",
  SignatureDoesNotMatch: "blob.bad_secret",
  InvalidToken: "blob.bad_token",
  ExpiredToken: "blob.bad_token",
  TokenRefreshRequired: "blob.bad_token",
  NoSuchBucket: "blob.no_bucket",
  InvalidBucketName: "blob.bad_bucket_name",
  PermanentRedirect: "blob.wrong_region",
  AuthorizationHeaderMalformed: "blob.wrong_region",
  IllegalLocationConstraintException: "blob.wrong_region",
  AccessDenied: "blob.no_permission",
  AllAccessDisabled: "blob.no_permission",
  AccountProblem: "blob.no_permission",
  UserSuspended: "blob.no_permission",
  QuotaExceeded: "blob.full",
  StorageFull: "blob.full",
  XMinioStorageFull: "blob.full",
  XMinioAdminBucketQuotaExceeded: "blob.full",
  SlowDown: "blob.busy",
  ServiceUnavailable: "blob.busy",
  InternalError: "blob.busy",
  RequestTimeout: "blob.busy",
  RequestTimeTooSkewed: "blob.refused",
  TimeoutError: "blob.unreachable",
};

function isConnectionFault(fault: S3Fault): boolean {
  return /^(E[A-Z_]+|UND_ERR.*|CERT_.*|DEPTH_ZERO.*|SELF_SIGNED.*)$/.test(fault.code ?? "");
}

/** What the settings are called where the owner finds them. */
const names = {
  caller: {
    accessKeyId: "access_key_id",
    secretAccessKey: "secret_access_key",
    endpoint: "endpoint_url",
    region: "config.region",
    bucket: "bucket_name",
    addressing: "addressing_style",
    permission: "to write to the bucket",
    needed: "s3:PutObject under the prefix",
    full: "Free some space or raise the quota, then create the export again.",
  },
  platform: {
    accessKeyId: "TREADLE_BLOB_ACCESS_KEY_ID",
    secretAccessKey: "TREADLE_BLOB_SECRET_ACCESS_KEY",
    endpoint: "TREADLE_BLOB_ENDPOINT_URL",
    region: "TREADLE_BLOB_REGION",
    bucket: "TREADLE_BLOB_URL",
    addressing: "TREADLE_BLOB_ADDRESSING_STYLE",
    permission: "for the bucket",
    needed: "s3:GetObject, s3:PutObject, s3:DeleteObject and s3:ListBucket under the prefix",
    full: "Free some space or raise the quota.",
  },
};

function words(code: BlobFailureCode, fault: S3Fault, { bucket, host, owner }: FailurePlace): string {
  const at = `at ${host}`;
  const name = names[owner];
  switch (code) {
    case "blob.unknown_key":
      return `The access key id does not exist ${at}. Check ${name.accessKeyId}.`;
    case "blob.bad_secret":
      return `The secret access key is wrong: ${host} refused the signature. Check ${name.secretAccessKey}.`;
    case "blob.bad_token":
      return `The session token is not valid ${at}, or has expired. Get new temporary credentials.`;
    case "blob.no_credentials":
      return `No credentials were given and this machine has none. Set ${name.accessKeyId} and ${name.secretAccessKey}.`;
    case "blob.no_bucket":
      return `The bucket ${bucket} does not exist ${at}. Create it, or check ${name.bucket}.`;
    case "blob.bad_bucket_name":
      return `The bucket name ${bucket} is not valid ${at}. Check ${name.bucket}, and ${name.addressing} if the endpoint needs the bucket in the path.`;
    case "blob.wrong_region":
      return `The bucket ${bucket} is not in this region${regionOf(fault)}. Set ${name.region} to the bucket's region.`;
    case "blob.no_permission":
      return `The credentials have no permission ${name.permission} ${bucket} ${at}. They need ${name.needed}.`;
    case "blob.full":
      return `The storage ${at} has no room left for the bucket ${bucket}, or its quota is used up. ${name.full}`;
    case "blob.unreachable":
      return `The storage ${at} cannot be reached. Check ${name.endpoint}, and that it can be reached from here.`;
    case "blob.busy":
      return `The storage ${at} could not serve the request at the moment.`;
    case "blob.refused":
      return `The storage ${at} refused the request for the bucket ${bucket}.`;
  }
}

function regionOf(fault: S3Fault): string {
  const region = fault.Region ?? fault.BucketRegion ?? fault.$response?.headers?.["x-amz-bucket-region"];
  return region ? ` but in ${region}` : "";
}

/** The storage's own words, short and on one line. */
function ownWords(fault: S3Fault): string {
  const name = fault.Code ?? fault.code ?? fault.name ?? "";
  const text = (fault.message ?? "").replace(/\s+/g, " ").trim().slice(0, 200);
  const status = fault.$metadata?.httpStatusCode;
  const parts = [name, text === name ? "" : text, status ? `status ${status}` : ""].filter(
    (part) => part !== "",
  );
  return parts.length > 0 ? ` (${parts.join(", ")})` : "";
}

/** A refusal by the network guard travels as the cause of a connection failure. */
function guardRefusal(error: unknown): AppError | undefined {
  for (let cause = error, depth = 0; cause instanceof Error && depth < 5; depth++) {
    if (cause instanceof AppError) {
      return new AppError({ ...sameAs(cause), message: cause.message, cause: error });
    }
    cause = cause.cause;
  }
  return undefined;
}

/** Storage refusals are for people to mend: trying again would only hide them. */
export function isBlobFailure(error: unknown): error is AppError {
  return error instanceof AppError && (error.code.startsWith("blob.") || error.code.startsWith("network."));
}

/** What the storage refuses becomes an error of ours; what the caller called off stays theirs. */
export async function withS3Failure<T>(
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
