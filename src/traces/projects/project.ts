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

/** Over the runs at the top of each trace, whose tokens and costs contain those below them. */
export type ProjectStats = {
  run_count: number;
  total_tokens: number;
  prompt_tokens: number;
  completion_tokens: number;
  total_cost: number | null;
  prompt_cost: number | null;
  completion_cost: number | null;
  latency_p50: number | null;
  latency_p99: number | null;
  first_token_p50: number | null;
  first_token_p99: number | null;
  error_rate: number | null;
  streaming_rate: number | null;
  last_run_start_time: string | null;
  /** By key: how many there are and their mean. */
  feedback_stats: Record<string, { n: number; avg?: number | null }>;
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
