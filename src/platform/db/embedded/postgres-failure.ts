import { AppError } from "../../errors.ts";
import type { PostgresPlace } from "./postgres-folder.ts";

/** The error for a PostgreSQL that did not come up, from what it printed. */
export function startFailure(options: {
  place: Pick<PostgresPlace, "home" | "logFile">;
  output: string;
  doing: "made" | "started";
  cause?: unknown;
}): AppError {
  const { home, logFile } = options.place;
  const output = options.output;
  const failed = (
    code: "data_folder.full" | "data_folder.unusable" | "database.start_failed",
    message: string,
  ) =>
    new AppError({
      code,
      kind: "unavailable",
      retryable: false,
      message,
      cause: options.cause,
      detail: { output },
    });
  if (/No space left on device|Disk quota exceeded|wrote only \d+ of \d+ bytes/.test(output)) {
    return failed(
      "data_folder.full",
      `The disk of the database folder ${home} is full. Free some space there, or choose another folder with TREADLE_DATA_DIR.`,
    );
  }
  if (/database files are incompatible with server/.test(output)) {
    return failed(
      "database.start_failed",
      `The database in ${home} was created by another major version of PostgreSQL. Start the Treadle that created it, or choose an empty folder with TREADLE_DATA_DIR.`,
    );
  }
  if (/Permission denied|wrong ownership|invalid permissions|Read-only file system/.test(output)) {
    return failed(
      "data_folder.unusable",
      `PostgreSQL may not use its folder ${home}: ${lastLines(output, 1)}. Repair the folder's owner and mode, or choose another one with TREADLE_DATA_DIR.`,
    );
  }
  return failed(
    "database.start_failed",
    `The embedded PostgreSQL in ${home} could not be ${options.doing}: ${lastLines(output, 3) || "it gave no reason"}. See ${logFile}, or set DATABASE_URL to another server.`,
  );
}

export function isPortTaken(output: string): boolean {
  return /could not bind|could not create any TCP\/IP sockets|Address already in use/.test(output);
}

function lastLines(output: string, count: number): string {
  const lines = output
    .split("\n")
    .map((line) => line.replace(/^\S+ \S+ UTC \[\d+\] /, "").trim())
    .filter((line) => line !== "" && !line.startsWith("HINT:"));
  const complaints = lines.filter((line) => /FATAL|PANIC|error|could not/i.test(line));
  return (complaints.length > 0 ? complaints : lines).slice(-count).join("; ").replace(/\.$/, "");
}
