import { AppError } from "../../platform/errors.ts";

export function feedbackNotFound(id: string): AppError {
  return new AppError({
    code: "traces.feedback_not_found",
    kind: "not_found",
    message: `Feedback ${id} not found. Check the id, and that the key belongs to its workspace.`,
  });
}

export function idTaken(): AppError {
  return new AppError({
    code: "traces.feedback_exists",
    kind: "conflict",
    message: "This feedback id is taken. Send another id, or none.",
  });
}
