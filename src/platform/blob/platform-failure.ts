import { AppError, errorMessage, sameAs } from "../errors.ts";
import type { BlobFailureCode } from "./blob-failure-code.ts";

const later = "Try again later; the operator finds the reason in the server's log.";
const away = `The platform's storage cannot be reached at the moment. ${later}`;
const full = `The platform's storage is full at the moment. ${later}`;

/**
 * What the platform's own storage refuses: no caller can mend it, and the same request may be sent again later. Where
 * the storage is and what it says is for the operator alone.
 */
export function platformFailure(code: BlobFailureCode, words: string, cause: unknown): AppError {
  const rest = { detail: { storage: words }, retryable: true, headers: { "retry-after": "5" }, cause };
  return code === "blob.full"
    ? new AppError({ code, kind: "insufficient_storage", message: full, ...rest })
    : new AppError({ code, kind: "unavailable", message: away, ...rest });
}

/** The full words, for logs. */
export function operatorWords(error: unknown): string {
  const words = error instanceof AppError ? error.detail?.storage : undefined;
  return typeof words === "string" ? words : errorMessage(error);
}

/** The same failure with its full words, where only the operator reads it. */
export function forOperator(error: unknown): unknown {
  if (!(error instanceof AppError)) return error;
  const { retryable, cause } = error;
  return new AppError({ ...sameAs(error), message: operatorWords(error), retryable, cause });
}
