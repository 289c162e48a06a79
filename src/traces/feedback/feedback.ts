import { AppError } from "../../platform/errors.ts";

/** A judgement of a run by a person or a program. JSON of any kind is kept as text. */
export type Feedback = {
  id: string;
  workspace_id: string;
  run_id: string | null;
  trace_id: string | null;
  project_id: string | null;
  key: string;
  score: number | null;
  value: string | null;
  comment: string | null;
  correction: string | null;
  feedback_source: unknown;
  feedback_config: unknown;
  comparative_experiment_id: string | null;
  feedback_group_id: string | null;
  extra: unknown;
  created_at: string;
  modified_at: string;
};

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
