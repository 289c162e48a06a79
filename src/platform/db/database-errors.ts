import { AppError } from "../errors.ts";

/** Where a database is, for messages: never the password, never the query string. */
export function describeDatabase(url: string): string {
  try {
    const parsed = new URL(url);
    const host = parsed.hostname === "" ? (parsed.searchParams.get("host") ?? "localhost") : parsed.hostname;
    return `${host}:${parsed.port || "5432"}${parsed.pathname}`;
  } catch {
    return "the configured DATABASE_URL";
  }
}

const socketCodes = new Set([
  "ECONNREFUSED",
  "ECONNRESET",
  "ECONNABORTED",
  "EPIPE",
  "ENOTFOUND",
  "EAI_AGAIN",
  "ETIMEDOUT",
  "EHOSTUNREACH",
  "ENETUNREACH",
  "ENETDOWN",
  "ENOENT",
]);
// Admin shutdown, crash shutdown, starting up or shutting down, idle session ended, too many connections, a standby
// that only reads: another connection may be answered better.
const unavailableStates = new Set(["57P01", "57P02", "57P03", "57P05", "25P03", "53300", "25006"]);
// Cancelled or out of time, out of memory, a limit of the server's configuration, a failed read or write of its files.
const strainedStates = new Set(["57014", "53200", "53400", "58030"]);
const fullState = "53100";
const refusedStates = new Set(["28000", "28P01", "3D000", "42501"]);
const contentionStates = new Set(["40001", "40P01", "55P03"]);
// The driver gives these no code.
const driverMessages = [
  "Connection terminated",
  "timeout exceeded when trying to connect",
  "timeout expired",
  "Client has encountered a connection error",
  "Client was closed and is not queryable",
  "Client has already been connected",
  "Query read timeout",
];

/** The five-character state Postgres answered with, or undefined. */
export function sqlState(error: unknown): string | undefined {
  if (error instanceof AppError) return error.cause === undefined ? undefined : sqlState(error.cause);
  const code = errorCode(error);
  return code !== undefined && /^[0-9A-Z]{5}$/.test(code) && !socketCodes.has(code) ? code : undefined;
}

/** The database itself was not there: nothing is wrong with the statement. */
export function isConnectionError(error: unknown): boolean {
  if (error instanceof AppError) return error.code === "database.unavailable";
  const code = errorCode(error);
  if (code !== undefined && (socketCodes.has(code) || unavailableStates.has(code))) return true;
  if (code !== undefined && /^08[0-9A-Z]{3}$/.test(code)) return true;
  return error instanceof Error && driverMessages.some((text) => error.message.includes(text));
}

/** Two transactions conflicted; a retry of the same work may succeed. */
export function isContentionError(error: unknown): boolean {
  if (error instanceof AppError) return error.code === "database.contention";
  const code = errorCode(error);
  return code !== undefined && contentionStates.has(code);
}

/**
 * A failure of the database, for which we are responsible, found anywhere in the chain of causes: libraries wrap
 * errors. Only errors of our own connections count; code we run may have trouble with its own database.
 */
export function databaseTrouble(error: unknown): AppError | undefined {
  for (const each of withCauses(error)) {
    if (each instanceof AppError && each.retryable && each.code.startsWith("database.")) return each;
  }
  return undefined;
}

function* withCauses(error: unknown): Generator<unknown> {
  const seen = new Set<unknown>();
  const left = [error];
  while (left.length > 0 && seen.size < 100) {
    const each = left.shift();
    if (typeof each !== "object" || each === null || seen.has(each)) continue;
    seen.add(each);
    yield each;
    left.push((each as { cause?: unknown }).cause);
    const { errors } = each as { errors?: unknown };
    if (Array.isArray(errors)) left.push(...errors);
  }
}

/**
 * Turns "the database is not there" and "this text cannot be stored" into errors that callers and operators
 * understand; others pass through.
 */
export function mapDatabaseError(error: unknown, where: string, connecting = false): unknown {
  if (error instanceof AppError) return error;
  const code = errorCode(error);
  const unstorable = unstorableText(error, code);
  if (unstorable !== undefined) {
    return new AppError({
      code: "request.invalid",
      kind: "unprocessable",
      message: `The request contains ${unstorable}, which cannot be stored. Remove it.`,
      cause: error,
    });
  }
  if (connecting && code !== undefined && refusedStates.has(code)) {
    return new AppError({
      code: "database.refused",
      kind: "unavailable",
      retryable: false,
      message: `The database at ${where} refused the connection (${reason(error)}). Check the user, password and database name in DATABASE_URL.`,
      cause: error,
    });
  }
  if (isContentionError(error)) {
    return new AppError({
      code: "database.contention",
      kind: "unavailable",
      message: "Two changes conflicted. Send the same request again.",
      cause: error,
    });
  }
  if (code === fullState) return databaseFull(where, error);
  if (code !== undefined && strainedStates.has(code)) {
    return new AppError({
      code: "database.strained",
      kind: "unavailable",
      message: `The database at ${where} could not do it at the moment (${reason(error)}). Nothing was changed; try again in a moment.`,
      cause: error,
    });
  }
  if (!isConnectionError(error)) return error;
  return new AppError({
    code: "database.unavailable",
    kind: "unavailable",
    retryable: true,
    message: `The database at ${where} ${explain(error, code)}`,
    cause: error,
  });
}

/**
 * Text that JSON can hold and PostgreSQL refuses. No schema forbids it everywhere, and where it arrives it came with
 * a request: it is the sender's to mend.
 */
function unstorableText(error: unknown, code: string | undefined): string | undefined {
  if (code === "22021" || code === "22P05") return "a NUL character (\\u0000)";
  // The state also covers malformed numbers and ids, which are our own mistakes; only its detail distinguishes them.
  if (code === "22P02" && / surrogate /.test(String((error as { detail?: unknown }).detail))) {
    return "a lone surrogate (\\ud800 to \\udfff)";
  }
  return undefined;
}

function databaseFull(where: string, cause: unknown): AppError {
  return new AppError({
    code: "database.full",
    kind: "insufficient_storage",
    message: `The disk of the database at ${where} is full (${reason(cause)}). Nothing was stored. Free some space there; Treadle then continues by itself.`,
    headers: { "retry-after": "30" },
    cause,
  });
}

function explain(error: unknown, code: string | undefined): string {
  if (code === "53300") {
    return "has no connection left. Raise its max_connections or lower TREADLE_DATABASE_POOL.";
  }
  if (error instanceof Error && error.message.includes("timeout exceeded when trying to connect")) {
    return "had no free connection in time. Check that it responds, or raise TREADLE_DATABASE_POOL.";
  }
  return `cannot be reached (${reason(error)}). Check that it runs, that DATABASE_URL is correct and that the network allows the connection; Treadle reconnects by itself.`;
}

function reason(error: unknown): string {
  const code = errorCode(error);
  const text = error instanceof Error && error.message !== "" ? error.message : String(code ?? error);
  return text.replace(/\.$/, "");
}

function errorCode(error: unknown): string | undefined {
  if (typeof error !== "object" || error === null || !("code" in error)) return undefined;
  return typeof error.code === "string" ? error.code : undefined;
}
