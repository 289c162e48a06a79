/** What went wrong, as a small closed set. `kind` alone decides the HTTP status. */
export const errorKinds = [
  "invalid",
  "unauthenticated",
  "forbidden",
  "not_found",
  "method_not_allowed",
  "conflict",
  "too_large",
  "misdirected",
  "unsupported_media_type",
  "unprocessable",
  "rate_limited",
  "bad_gateway",
  "unavailable",
  "insufficient_storage",
  "internal",
] as const;
export type ErrorKind = (typeof errorKinds)[number];

/** The codes of an area, `subject.reason`, each with its kind; several where it depends on who asks. */
export type ErrorCatalogue = Record<`${string}.${string}`, ErrorKind | readonly ErrorKind[]>;
export type KindsOf<Catalogue> = {
  [Code in keyof Catalogue]: Catalogue[Code] extends readonly (infer Kind)[] ? Kind : Catalogue[Code];
};

/** Every code there is: each area adds those of its `error-catalogue.ts`, so a code outside of them does not compile. */
// biome-ignore lint/suspicious/noEmptyInterface: the catalogues fill it.
export interface KnownErrors {}
export type ErrorCode = keyof KnownErrors;
/** A code with a kind it may have. */
export type CodeAndKind = { [Code in ErrorCode]: { code: Code; kind: KnownErrors[Code] } }[ErrorCode];
/** One entry of the 422 body (the wire shape every area shares). */
export type ValidationIssue = {
  loc: (string | number)[];
  msg: string;
  type: string;
  input?: unknown;
  ctx?: Record<string, unknown>;
};

export type AppErrorOptions = CodeAndKind & {
  /** Shown to the caller: what happened, to what, and what to do next. */
  message: string;
  /** For the log only; never sent. */
  detail?: Record<string, unknown>;
  /** The 422 array; only with kind `unprocessable`. */
  issues?: ValidationIssue[];
  /** Extra response headers, for example `Retry-After`. */
  headers?: Record<string, string>;
  /** Workers retry on this alone. */
  retryable?: boolean;
  cause?: unknown;
};

/** Failures that may be temporary, so that the same request is worth sending again. */
const passingKinds: ReadonlySet<ErrorKind> = new Set(["unavailable", "insufficient_storage", "rate_limited"]);

/** The one error the code throws on purpose. Anything else is a defect and answers 500. */
export class AppError extends Error {
  readonly code: ErrorCode;
  readonly kind: ErrorKind;
  readonly detail: Record<string, unknown> | undefined;
  readonly issues: ValidationIssue[] | undefined;
  readonly headers: Record<string, string> | undefined;
  readonly retryable: boolean;

  constructor(options: AppErrorOptions) {
    super(options.message, { cause: options.cause });
    this.name = "AppError";
    this.code = options.code;
    this.kind = options.kind;
    this.detail = options.detail;
    this.issues = options.issues;
    this.headers = options.headers;
    this.retryable = options.retryable ?? passingKinds.has(options.kind);
  }
}

/** A 422 for one field, for rules a schema cannot express. */
export function invalidField(loc: (string | number)[], msg: string, input?: unknown): AppError {
  return new AppError({
    code: "request.invalid",
    kind: "unprocessable",
    message: msg,
    issues: [{ loc, msg, type: "value_error", ...(input === undefined ? {} : { input }) }],
  });
}

export function errorMessage(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** The code and the kind of an error, for an error that replaces it. */
export function sameAs({ code, kind }: AppError): CodeAndKind {
  return { code, kind } as CodeAndKind;
}
