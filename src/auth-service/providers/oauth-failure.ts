import * as oauth from "oauth4webapi";
import { AppError } from "../../platform/errors.ts";

/**
 * Why a provider did not do what it was asked.
 * - `grant`: the code or token is not good any more; trying again is useless.
 * - `refused`: the provider understood and refused (wrong client, unsupported, …).
 * - `unusable`: the answer makes no sense.
 * - `unreachable`: no answer, in time or at all, or an overloaded one.
 */
export type OAuthFailureKind = "grant" | "refused" | "unusable" | "unreachable";

/** Never carries the provider's or the library's error as `cause`: bodies hold tokens, and errors get logged. */
export class OAuthFailure extends AppError {
  readonly failure: OAuthFailureKind;
  /** The provider's own error code, when it is one. */
  readonly providerError: string | null;

  constructor(options: {
    failure: OAuthFailureKind;
    code: `oauth.${"provider_failed" | "refused" | "unreachable" | "unusable_answer"}`;
    message: string;
    providerError?: string | null;
  }) {
    super({
      code: options.code,
      kind: "bad_gateway",
      message: options.message,
      retryable: options.failure === "unreachable" || options.failure === "unusable",
    });
    this.name = "OAuthFailure";
    this.failure = options.failure;
    this.providerError = options.providerError ?? null;
  }
}

/** Failures of the network, before any answer. */
function isUnreachable(error: unknown): boolean {
  return error instanceof AppError && (error.kind === "bad_gateway" || error.code === "network.name_unknown");
}

/** The provider's own failure: its client did nothing wrong, and later it may work. */
export function providerFailed(host: string, step: string, status: number, error?: string): OAuthFailure {
  const reason = error === undefined ? "" : ` (${error})`;
  const what = status === 429 ? "is overloaded" : "failed";
  return new OAuthFailure({
    failure: "unreachable",
    code: "oauth.provider_failed",
    message: `${host} ${what}: it answered ${step} with status ${status}${reason}. Try again later. If that does not help, ask the provider.`,
    providerError: error ?? null,
  });
}

const isOverload = (status: number | undefined): status is number =>
  status !== undefined && (status >= 500 || status === 429);

/** Besides `invalid_grant`: what well-known providers send instead. */
const deadGrantErrors = new Set([
  "invalid_grant",
  "bad_refresh_token",
  "bad_verification_code",
  "invalid_refresh_token",
  "invalid_code",
  "token_revoked",
  "token_expired",
  "expired_token",
]);

const errorCodePattern = /^[A-Za-z][A-Za-z0-9_.-]{0,63}$/;
const maxDescription = 200;

/** `step` completes "while …"; `secrets` are what was sent and must not come back in a message. */
export function describeOAuthFailure(
  thrown: unknown,
  context: { host: string; step: string; secrets: readonly (string | null | undefined)[] },
): AppError {
  const { host, step } = context;
  if (thrown instanceof OAuthFailure) return thrown;
  if (thrown instanceof AppError) {
    // Refused by the guard: the caller's mistake, with the guard's own message.
    if (!isUnreachable(thrown)) return thrown;
    return new OAuthFailure({ failure: "unreachable", code: "oauth.unreachable", message: thrown.message });
  }
  if (thrown instanceof oauth.ResponseBodyError) {
    const error = errorCodePattern.test(thrown.error) ? thrown.error : "an error without a valid code";
    const why = safeDescription(thrown.error_description, context.secrets);
    if (isOverload(thrown.status) && !deadGrantErrors.has(error))
      return providerFailed(host, step, thrown.status, error);
    const later = error === "temporarily_unavailable";
    return new OAuthFailure({
      failure: deadGrantErrors.has(error) ? "grant" : later ? "unreachable" : "refused",
      code: "oauth.refused",
      message: `${host} refused ${step}: ${error}${why === null ? "" : ` (${why})`}.`,
      providerError: error,
    });
  }
  if (thrown instanceof oauth.WWWAuthenticateChallengeError) {
    return new OAuthFailure({
      failure: "refused",
      code: "oauth.refused",
      message: `${host} refused ${step}: the client id or secret is not accepted there.`,
      providerError: "invalid_client",
    });
  }
  if (thrown instanceof oauth.OperationProcessingError || thrown instanceof oauth.UnsupportedOperationError) {
    const status = thrown.cause instanceof Response ? thrown.cause.status : undefined;
    if (isOverload(status)) return providerFailed(host, step, status);
    const answered = status === undefined ? "" : ` (status ${status})`;
    return new OAuthFailure({
      failure: "unusable",
      code: "oauth.unusable_answer",
      message: `${host} responded to ${step}, but not with OAuth${answered}. Check the provider's URLs.`,
    });
  }
  if (thrown instanceof TypeError) {
    return new OAuthFailure({
      failure: "unusable",
      code: "oauth.unusable_answer",
      message: `${step} at ${host} is not possible with these settings. Check the provider's URLs.`,
    });
  }
  throw thrown;
}

/** One short printable line that repeats nothing of what was sent. */
function safeDescription(
  text: string | undefined,
  secrets: readonly (string | null | undefined)[],
): string | null {
  if (text === undefined) return null;
  if (secrets.some((secret) => secret && text.includes(secret))) return null;
  const line = text
    .replace(/[^\x20-\x7e]+/g, " ")
    .trim()
    .slice(0, maxDescription);
  // Something long and unbroken looks like a token.
  return line === "" || /[A-Za-z0-9_\-./+=]{24,}/.test(line) ? null : line;
}
