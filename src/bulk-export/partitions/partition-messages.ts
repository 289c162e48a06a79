import { AppError, type CodeAndKind, errorMessage, sameAs } from "../../platform/errors.ts";
import type { PartitionFile, PartitionTask } from "./partition-task.ts";

/** An error as it crosses between threads. */
export type ErrorNote = CodeAndKind & { message: string; retryable: boolean };

export type ToThread =
  | { type: "start"; task: PartitionTask }
  /** The last intent or written file is kept; go on. */
  | { type: "kept" }
  | { type: "abort" };

export type FromThread =
  | { type: "intent"; file: PartitionFile }
  | { type: "written"; file: PartitionFile }
  | { type: "done"; rows: number }
  | { type: "failed"; error: ErrorNote };

export function noteOf(error: unknown): ErrorNote {
  if (error instanceof AppError) {
    return { ...sameAs(error), message: error.message, retryable: error.retryable };
  }
  // An unexpected error may be temporary; the number of attempts is bounded.
  return { code: "bulk_export.defect", kind: "internal", message: errorMessage(error), retryable: true };
}

export function errorOf(note: ErrorNote): AppError {
  return new AppError(note);
}
