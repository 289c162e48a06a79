import { AppError } from "../../platform/errors.ts";

/** A run that exists, but not in the place the caller named. */
export function notInPlace(runId: string, place: "project" | "trace"): AppError {
  return new AppError({
    code: "traces.run_not_found",
    kind: "not_found",
    message: `Run ${runId} is not in the ${place} of the request. Send its own, or leave it out.`,
  });
}

/** An answer without pages: half a trace must not look like a whole one. */
export function traceTooLarge(traceId: string, instead: string): AppError {
  return new AppError({
    code: "traces.trace_too_large",
    kind: "too_large",
    message: `Trace ${traceId} does not fit into one response. Select fewer fields, or ${instead}.`,
  });
}

export function runNotFound(runId: string): AppError {
  return new AppError({
    code: "traces.run_not_found",
    kind: "not_found",
    message: `Run ${runId} not found in this workspace. It may not have arrived yet, or its project was deleted.`,
  });
}
