import { AppError } from "../../platform/errors.ts";

export function diskFull(cause?: unknown): AppError {
  return new AppError({
    code: "build.disk_full",
    kind: "unavailable",
    retryable: false,
    message:
      "The disk of this machine is full. Free some space (old builds are removed with their deployments) and deploy again.",
    cause,
  });
}
