import { AppError } from "../../platform/errors.ts";

/** A tracing project ("session" on the wire). One with `reference_dataset_id` is an experiment. */
export type Project = {
  id: string;
  workspace_id: string;
  name: string;
  description: string | null;
  extra: Record<string, unknown> | null;
  default_dataset_id: string | null;
  reference_dataset_id: string | null;
  trace_tier: string;
  retention_days: number | null;
  start_time: string;
  end_time: string | null;
};

export const defaultProjectName = "default";
export const maxProjectNameChars = 1_000;

export function projectNotFound(id: string): AppError {
  return new AppError({
    code: "traces.project_not_found",
    kind: "not_found",
    message: `Project ${id} not found. Check the id, and that the key belongs to its workspace.`,
  });
}

export function projectNameTaken(name: string): AppError {
  return new AppError({
    code: "traces.project_exists",
    kind: "conflict",
    message: `A project named "${name}" exists already. Choose another name, or send upsert=true to get the one that exists.`,
  });
}
