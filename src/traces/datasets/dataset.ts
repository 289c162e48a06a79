import { AppError } from "../../platform/errors.ts";

export type Dataset = {
  id: string;
  workspace_id: string;
  name: string;
  description: string | null;
  data_type: string;
  inputs_schema: unknown;
  outputs_schema: unknown;
  metadata: unknown;
  example_count: number;
  session_count: number;
  created_at: string;
  modified_at: string;
};

/** `inputs` and `outputs` are JSON text. */
export type Example = {
  id: string;
  workspace_id: string;
  dataset_id: string;
  inputs: string;
  outputs: string | null;
  metadata: Record<string, unknown> | null;
  source_run_id: string | null;
  created_at: string;
  modified_at: string;
};

export function datasetNotFound(id: string): AppError {
  return new AppError({
    code: "traces.dataset_not_found",
    kind: "not_found",
    message: `Dataset ${id} not found. Check the id, and that the key belongs to its workspace.`,
  });
}

export function datasetNameTaken(name: string): AppError {
  return new AppError({
    code: "traces.dataset_exists",
    kind: "conflict",
    message: `Dataset with this name already exists: "${name}". Choose another name, or use that one.`,
  });
}

export function exampleNotFound(id: string): AppError {
  return new AppError({
    code: "traces.example_not_found",
    kind: "not_found",
    message: `Example ${id} not found. Check the id, and that the key belongs to its workspace.`,
  });
}

export function attachmentNotFound(exampleId: string, name: string): AppError {
  return new AppError({
    code: "traces.attachment_not_found",
    kind: "not_found",
    message: `Example ${exampleId} has no attachment "${name.slice(0, 80)}".`,
  });
}
