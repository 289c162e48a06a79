import { AppError } from "../../../../platform/errors.ts";

/** What a reader is told whose filters make more of a statement than the server takes. */
export function queryTooLarge(cause?: unknown): AppError {
  return new AppError({
    code: "traces.query_too_large",
    kind: "unprocessable",
    message:
      "The query's filters are too large or nested too deep for the database of runs. Ask for less in one filter, or send several queries.",
    cause,
  });
}
