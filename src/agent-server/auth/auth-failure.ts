import { AppError, type KnownErrors } from "../../platform/errors.ts";

type RefusalKind = KnownErrors["auth.refused"];

const kinds: Record<number, RefusalKind> = {
  400: "invalid",
  401: "unauthenticated",
  403: "forbidden",
  404: "not_found",
  409: "conflict",
  422: "unprocessable",
  429: "rate_limited",
};

/** What the project's own code threw on purpose, with its status; undefined for anything else. */
export function statedFailure(error: unknown, fallback: RefusalKind): AppError | undefined {
  if (error instanceof AppError) return error;
  if (typeof error !== "object" || error === null || !("status" in error)) return undefined;
  const { status, message, headers } = error as { status: unknown; message?: unknown; headers?: unknown };
  if (typeof status !== "number" || status < 400 || status > 599) return undefined;
  const kind = kinds[status] ?? (status >= 500 ? "unavailable" : fallback);
  return new AppError({
    code: "auth.refused",
    kind,
    message: typeof message === "string" && message !== "" ? message : "The request was refused.",
    retryable: false,
    headers: plainHeaders(headers),
    cause: error,
  });
}

function plainHeaders(headers: unknown): Record<string, string> {
  if (headers instanceof Headers) return Object.fromEntries(headers);
  if (typeof headers !== "object" || headers === null) return {};
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, String(value)]));
}
