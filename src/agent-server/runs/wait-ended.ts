import { AppError } from "../../platform/errors.ts";

export function waitEnded(runId: string): AppError {
  return new AppError({
    code: "run.wait_ended",
    kind: "unavailable",
    message: `The wait for run ${runId} was interrupted.`,
  });
}
