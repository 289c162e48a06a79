import { AppError } from "../../platform/errors.ts";
import type { Role } from "../../platform/http/access/caller.ts";

export const plans = ["free", "plus", "enterprise"] as const;
export type Plan = (typeof plans)[number];
export const editions = ["self-hosted", "cloud"] as const;
export type Edition = (typeof editions)[number];

export type Workspace = {
  id: string;
  organization_id: string;
  name: string;
  created_at: Date;
  updated_at: Date;
};

/** A workspace as one caller sees it. */
export type VisibleWorkspace = Workspace & { role: Role };

/** Plan tiers exist in the cloud edition only; a self-hosted installation has everything. */
export function includesBulkExport(edition: Edition, plan: Plan): boolean {
  return edition === "self-hosted" || plan !== "free";
}

export function workspaceNotFound(id: string): AppError {
  return new AppError({
    code: "workspace.not_found",
    kind: "not_found",
    message: `Workspace ID ${id} not found.`,
  });
}
