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

/** As numbers, since they are the same in every version: wrong password, no such user, not allowed, no such database. */
const refusedCodes = new Set(["516", "192", "497", "81"]);
/** Out of time, memory or files, too many queries or parts, cancelled, Keeper or another server away, read-only for now. */
const strainedCodes = new Set([
  "159",
  "160",
  "241",
  "76",
  "202",
  "252",
  "394",
  "209",
  "210",
  "999",
  "242",
  "319",
]);
const fullCodes = new Set(["243", "505"]);

/**
 * The number ClickHouse answered with, or the name of the system's error; undefined for what is neither. Its client has
 * no other class for errors of the connection than that of the system.
 */
export function clickHouseCode(error: unknown): string | undefined {
  if (error instanceof AppError) return error.cause === undefined ? undefined : clickHouseCode(error.cause);
  if (typeof error !== "object" || error === null || !("code" in error)) return undefined;
  return typeof error.code === "string" ? error.code : undefined;
}

/** Failures of the server and the way to it, which are ours; what is wrong with a statement passes through. */
export function mapClickHouseError(error: unknown, where: string): unknown {
  if (error instanceof AppError || (error instanceof Error && error.name === "AbortError")) return error;
  const code = clickHouseCode(error);
  const reason = errorMessage(error).replace(/\.?\s*$/, "");
  if (code !== undefined && refusedCodes.has(code)) {
    return new AppError({
      code: "database.refused",
      kind: "unavailable",
      retryable: false,
      message: `ClickHouse at ${where} refused access (${reason}). Check the user, password and database name in its URL.`,
      cause: error,
    });
  }
  if (code !== undefined && fullCodes.has(code)) {
    return new AppError({
      code: "database.full",
      kind: "insufficient_storage",
      message: `The disk of ClickHouse at ${where} is full (${reason}). Free some space there; Treadle then continues by itself.`,
      headers: { "retry-after": "30" },
      cause: error,
    });
  }
  if (code !== undefined && strainedCodes.has(code)) {
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
