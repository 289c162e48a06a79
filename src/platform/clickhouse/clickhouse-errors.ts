import { AppError, errorMessage } from "../errors.ts";

/** Where it is, for messages: never the password, never the query string. */
export function describeClickHouse(url: string): string {
  try {
    const { host, pathname } = new URL(url);
    return `${host}${pathname}`;
  } catch {
    return "the configured URL";
  }
}

type Codes = Readonly<Record<string, string>>;

/** Its errors by their numbers, which are the same in every version. Of the user and what it may do: */
const refusedCodes: Codes = {
  81: "UNKNOWN_DATABASE",
  164: "READONLY",
  192: "UNKNOWN_USER",
  193: "WRONG_PASSWORD",
  194: "REQUIRED_PASSWORD",
  195: "IP_ADDRESS_NOT_ALLOWED",
  497: "ACCESS_DENIED",
  516: "AUTHENTICATION_FAILED",
};
/** A right is missing. */
export const accessDenied = "497";
/** Out of time, memory, files or quota, too much at once, cancelled, Keeper or another server away, read-only for now. */
const strainedCodes: Codes = {
  75: "CANNOT_WRITE_TO_FILE_DESCRIPTOR",
  76: "CANNOT_OPEN_FILE",
  159: "TIMEOUT_EXCEEDED",
  160: "TOO_SLOW",
  173: "CANNOT_ALLOCATE_MEMORY",
  201: "QUOTA_EXCEEDED",
  202: "TOO_MANY_SIMULTANEOUS_QUERIES",
  203: "NO_FREE_CONNECTION",
  209: "SOCKET_TIMEOUT",
  210: "NETWORK_ERROR",
  225: "NO_ZOOKEEPER",
  236: "ABORTED",
  241: "MEMORY_LIMIT_EXCEEDED",
  242: "TABLE_IS_READ_ONLY",
  252: "TOO_MANY_PARTS",
  279: "ALL_CONNECTION_TRIES_FAILED",
  285: "TOO_FEW_LIVE_REPLICAS",
  286: "UNSATISFIED_QUORUM_FOR_PREVIOUS_WRITE",
  319: "UNKNOWN_STATUS_OF_INSERT",
  394: "QUERY_WAS_CANCELLED",
  439: "CANNOT_SCHEDULE_TASK",
  745: "SERVER_OVERLOADED",
  999: "KEEPER_EXCEPTION",
};
const fullCodes: Codes = { 243: "NOT_ENOUGH_SPACE" };
export const knownCodes: Codes = { ...refusedCodes, ...strainedCodes, ...fullCodes };

/**
 * The number ClickHouse answered with, or the name of the system's error; undefined for what is neither. Its client has
 * no other class for errors of the connection than that of the system.
 */
export function clickHouseCode(error: unknown): string | undefined {
  if (error instanceof AppError) return error.cause === undefined ? undefined : clickHouseCode(error.cause);
  if (typeof error !== "object" || error === null || !("code" in error)) return undefined;
  return typeof error.code === "string" ? error.code : undefined;
}

/** There is no answer to a statement. */
export function noAnswer(where: string, cause: unknown): AppError {
  return new AppError({
    code: "database.unavailable",
    kind: "unavailable",
    message: `ClickHouse at ${where} did not answer in time. Check its load and the network; Treadle tries again by itself.`,
    cause,
  });
}

/** Failures of the server and the way to it, which are ours; what is wrong with a statement passes through. */
export function mapClickHouseError(error: unknown, where: string): unknown {
  if (error instanceof AppError || (error instanceof Error && error.name === "AbortError")) return error;
  const code = clickHouseCode(error);
  const reason = errorMessage(error).replace(/\.?\s*$/, "");
  if (code === accessDenied) {
    return new AppError({
      code: "database.refused",
      kind: "unavailable",
      retryable: false,
      // The server names the user and the right.
      message: `ClickHouse at ${where} does not let its user do this (${reason}). Grant the user this right; docs/traces.md lists all it needs.`,
      cause: error,
    });
  }
  if (code !== undefined && code in refusedCodes) {
    return new AppError({
      code: "database.refused",
      kind: "unavailable",
      retryable: false,
      message: `ClickHouse at ${where} refused access (${reason}). Check the user, password and database name in its URL.`,
      cause: error,
    });
  }
  if (code !== undefined && code in fullCodes) {
    return new AppError({
      code: "database.full",
      kind: "insufficient_storage",
      message: `The disk of ClickHouse at ${where} is full (${reason}). Free some space there; Treadle then continues by itself.`,
      headers: { "retry-after": "30" },
      cause: error,
    });
  }
  if (code !== undefined && code in strainedCodes) {
    return new AppError({
      code: "database.strained",
      kind: "unavailable",
      message: `ClickHouse at ${where} could not do it at the moment (${reason}). Try again in a moment.`,
      cause: error,
    });
  }
  // A number is an answer: it was there.
  if (code !== undefined && /^\d+$/.test(code)) return error;
  return new AppError({
    code: "database.unavailable",
    kind: "unavailable",
    message: `ClickHouse at ${where} cannot be reached (${reason}). Check that it runs, that its URL is correct and that the network allows the connection; Treadle tries again by itself.`,
    cause: error,
  });
}
