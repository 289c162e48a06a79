import { AppError, errorMessage } from "../platform/errors.ts";
import { exitCodeFor, exitCodes } from "./exit-codes.ts";

export type Failure = { code: string; message: string; exitCode: number };

/** What went wrong, as one message for a person and one number for a script. */
export function describeFailure(error: unknown): Failure {
  if (error instanceof AppError) {
    return { code: error.code, message: error.message, exitCode: exitCodeFor(error.code) };
  }
  return { code: "internal", message: describeUnexpected(error), exitCode: exitCodes.failure.code };
}

function describeUnexpected(error: unknown): string {
  const hint =
    "This is not an error Treadle expects; set TREADLE_LOG_LEVEL=debug to see where it comes from.";
  // A failed connection to several addresses arrives as an AggregateError without a message of its own.
  const parts = error instanceof AggregateError ? error.errors.map(errorMessage) : [errorMessage(error)];
  return `${parts.join("; ")}\n${hint}`;
}

/** Reports on stderr; with `json` as one JSON document there, so that stdout stays clean for results. */
export function reportFailure(error: unknown, options: { json: boolean; debug: boolean }): number {
  const failure = describeFailure(error);
  printFailure(failure, options);
  if (options.debug && error instanceof Error) {
    process.stderr.write(`${error.stack}\n`);
    for (let cause = error.cause; cause instanceof Error; cause = cause.cause) {
      process.stderr.write(`caused by ${cause.stack}\n`);
    }
  }
  return failure.exitCode;
}

export function printFailure({ code, message, exitCode }: Failure, { json }: { json: boolean }): void {
  const body = { error: { code, message, exit_code: exitCode } };
  process.stderr.write(json ? `${JSON.stringify(body)}\n` : `treadle: ${message}\n`);
}
