import { describe, expect, test } from "vitest";
import { AppError } from "../errors.ts";
import { forOperator, operatorWords } from "./platform-failure.ts";
import { isBlobFailure, s3Failure } from "./s3-failure.ts";

const place = { bucket: "lake", host: "s3.example", owner: "caller" } as const;
const fault = (fields: Record<string, unknown>) =>
  Object.assign(new Error(String(fields.message ?? "")), fields);
const status = (httpStatusCode: number) => ({ $metadata: { httpStatusCode } });

describe("the storage's error becomes what to change", () => {
  test.each([
    [{ name: "InvalidAccessKeyId", ...status(403) }, "blob.unknown_key", false, "access_key_id"],
    [{ name: "SignatureDoesNotMatch", ...status(403) }, "blob.bad_secret", false, "secret_access_key"],
    [{ name: "ExpiredToken", ...status(400) }, "blob.bad_token", false, "temporary credentials"],
    [{ name: "NoSuchBucket", ...status(404) }, "blob.no_bucket", false, "bucket lake does not exist"],
    [{ name: "InvalidBucketName", ...status(400) }, "blob.bad_bucket_name", false, "addressing_style"],
    [
      { name: "AuthorizationHeaderMalformed", Region: "eu-west-1", ...status(400) },
      "blob.wrong_region",
      false,
      "in eu-west-1",
    ],
    [{ name: "Unknown", ...status(301) }, "blob.wrong_region", false, "config.region"],
    [{ name: "AccessDenied", ...status(403) }, "blob.no_permission", false, "s3:PutObject"],
    [{ name: "Unknown", ...status(403) }, "blob.no_permission", false, "permission"],
    [{ name: "QuotaExceeded", ...status(403) }, "blob.full", false, "raise the quota"],
    [{ name: "Unknown", ...status(507) }, "blob.full", false, "no room left"],
    [{ name: "SlowDown", ...status(503) }, "blob.busy", true, "could not serve"],
    [{ name: "Unknown", ...status(500) }, "blob.busy", true, "status 500"],
    [{ name: "Error", code: "ECONNREFUSED" }, "blob.unreachable", true, "endpoint_url"],
    [{ name: "TimeoutError" }, "blob.unreachable", true, "cannot be reached"],
    [{ name: "CredentialsProviderError", message: "none" }, "blob.no_credentials", false, "access_key_id"],
    [
      { name: "InvalidArgument", message: "no key service", ...status(400) },
      "blob.refused",
      false,
      "no key service",
    ],
  ])("%o", (fields, code, retryable, words) => {
    const error = s3Failure(fault(fields), place);
    expect(error).toMatchObject({ code, retryable, kind: "invalid" });
    expect(error.message).toContain(words);
    expect(isBlobFailure(error)).toBe(true);
  });
});

describe("of the platform's own bucket", () => {
  const own = { ...place, owner: "platform" } as const;
  test.each([
    [{ name: "InvalidAccessKeyId", ...status(403) }, "unavailable", "TREADLE_BLOB_ACCESS_KEY_ID"],
    [{ name: "NoSuchBucket", ...status(404) }, "unavailable", "TREADLE_BLOB_URL"],
    [{ name: "Error", code: "ECONNREFUSED" }, "unavailable", "TREADLE_BLOB_ENDPOINT_URL"],
    [{ name: "QuotaExceeded", ...status(403) }, "insufficient_storage", "raise the quota."],
  ])("%o is no caller's fault, and worth another try", (fields, kind, words) => {
    const error = s3Failure(fault(fields), own);
    expect(error).toMatchObject({ kind, retryable: true });
    expect(operatorWords(error)).toContain(words);
    expect(forOperator(error)).toMatchObject({ kind, message: operatorWords(error) });
    // Callers learn nothing about where it is.
    expect(error.message).toMatch(/^The platform's storage (cannot be reached|is full) at the moment\. /);
    expect(Number(error.headers?.["retry-after"])).toBeGreaterThan(0);
  });
});

test("a refusal of the network guard stays one, however deep it is wrapped", () => {
  const guard = new AppError({
    code: "network.address_refused",
    kind: "invalid",
    message: "a private address",
  });
  const wrapped = new Error("outer", { cause: new Error("inner", { cause: guard }) });
  expect(s3Failure(wrapped, place)).toMatchObject({
    code: "network.address_refused",
    message: "a private address",
  });
});
