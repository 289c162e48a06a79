import { AppError, type ErrorKind } from "../errors.ts";
import type { Logger } from "../logger.ts";
import { json } from "./route.ts";
import { publicIssue } from "./validation/validation.ts";

export function statusOf(kind: ErrorKind): number {
  switch (kind) {
    case "invalid":
      return 400;
    case "unauthenticated":
      return 401;
    case "forbidden":
      return 403;
    case "not_found":
      return 404;
    case "method_not_allowed":
      return 405;
    case "conflict":
      return 409;
    case "too_large":
      return 413;
    case "unsupported_media_type":
      return 415;
    case "misdirected":
      return 421;
    case "unprocessable":
      return 422;
    case "rate_limited":
      return 429;
    case "internal":
      return 500;
    case "bad_gateway":
      return 502;
    case "unavailable":
      return 503;
    case "insufficient_storage":
      return 507;
  }
}

/** When to ask again after a trouble of ours that names no time. */
const retryAfterSeconds = "5";

export type ErrorPlace = { requestId: string; method: string; route: string; logger: Logger };

/** Any thrown thing as a response. Only what an AppError calls public leaves the process. */
export function errorResponse(thrown: unknown, place: ErrorPlace): Response {
  const error = thrown instanceof AppError ? thrown : (rejectedByStorage(thrown) ?? thrown);
  if (!(error instanceof AppError)) {
    const err = error instanceof Error ? error : new Error(String(error));
    logFailure("error", "request failed unexpectedly", err, place);
    return json(500, { detail: `Internal error. Request id ${place.requestId}.` });
  }
  const status = statusOf(error.kind);
  if (status >= 500) {
    logFailure(status === 500 ? "error" : "warn", "request failed", error, place);
  } else if (error.detail || error.cause) {
    logFailure("debug", "request refused", error, place);
  }
  const headers = {
    // Beside the body, whose shape is the protocol's: programs distinguish errors by it, not by their texts.
    "x-error-code": error.code,
    ...(status === 401 ? { "www-authenticate": 'Bearer realm="treadle"' } : {}),
    ...(error.retryable && status > 500 ? { "retry-after": retryAfterSeconds } : {}),
    ...error.headers,
  };
  return json(status, { detail: publicDetail(error) }, headers);
}

/** The text, or for 422 always the array: clients of that shape read nothing else. */
function publicDetail(error: AppError): unknown {
  if (error.kind !== "unprocessable") return error.message;
  const issues = error.issues ?? [{ loc: ["body"], msg: error.message, type: "value_error" }];
  return issues.map(publicIssue);
}

function logFailure(level: "debug" | "warn" | "error", text: string, error: Error, place: ErrorPlace): void {
  const { requestId, method, route, logger } = place;
  const known = error instanceof AppError ? { code: error.code, detail: error.detail } : {};
  logger[level]({ request_id: requestId, method, route, ...known, err: error }, text);
}

/**
 * PostgreSQL stores no NUL character in text. No schema forbids it everywhere, and a request that holds one
 * is the caller's mistake, not ours.
 */
function rejectedByStorage(thrown: unknown): AppError | undefined {
  const code = (thrown as { code?: unknown } | null)?.code;
  if (code !== "22021" && code !== "22P05") return undefined;
  return new AppError({
    code: "request.invalid",
    kind: "unprocessable",
    message: "The request contains a NUL character (\\u0000), which cannot be stored. Remove it.",
    cause: thrown,
  });
}
