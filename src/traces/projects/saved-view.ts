import { AppError } from "../../platform/errors.ts";

/** A list of a project's runs that people keep under a name. */
export type SavedView = {
  id: string;
  workspace_id: string;
  project_id: string;
  name: string;
  filter: string;
  columns: string[];
  /** `latency` or `-latency`; null: the newest first. */
  sort: string | null;
  options: Record<string, string>;
  created_by: string | null;
  created_at: Date;
  updated_at: Date;
};

export type SavedViewFields = Pick<SavedView, "name" | "filter" | "columns" | "sort" | "options">;

export const maxSavedViews = 100;

export function savedViewNotFound(id: string): AppError {
  return new AppError({
    code: "traces.saved_view_not_found",
    kind: "not_found",
    message: `Saved view ${id} not found in this project. It may have been deleted.`,
  });
}

export function savedViewExists(name: string): AppError {
  return new AppError({
    code: "traces.saved_view_exists",
    kind: "conflict",
    message: `This project has a saved view named "${name}" already. Choose another name.`,
  });
}

export function tooManySavedViews(): AppError {
  return new AppError({
    code: "traces.saved_views_full",
    kind: "conflict",
    message: `A project can have at most ${maxSavedViews} views. Delete one first.`,
  });
}
