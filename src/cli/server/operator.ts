import type { Sql } from "../../platform/db/database.ts";
import { AppError } from "../../platform/errors.ts";
import type { Caller } from "../../platform/http/access/caller.ts";
import { newId } from "../../platform/ids.ts";
import { keepBootstrapUser } from "../../workspaces/identity/member-store.ts";
import {
  findFirstOrganizationId,
  findFirstWorkspaceId,
  findStoredWorkspace,
} from "../../workspaces/identity/workspace-store.ts";

/**
 * A user who can read the data folder or has DATABASE_URL acts as the administrator of the first start. Null when the
 * server was never started.
 */
export async function findOperator(
  sql: Sql,
  workspaceId: string | undefined,
  now: Date,
): Promise<Caller | null> {
  const organizationId = await findFirstOrganizationId(sql);
  if (organizationId === undefined) return null;
  const userId = await keepBootstrapUser(sql, {
    id: newId(),
    organizationId,
    email: "admin@localhost",
    name: "Administrator",
    now,
  });
  const chosen = workspaceId ?? (await findFirstWorkspaceId(sql, organizationId));
  const stored = chosen === undefined ? undefined : await findStoredWorkspace(sql, chosen);
  if (stored === undefined || stored.deleted || stored.organization_id !== organizationId) {
    throw new AppError({
      code: "workspace.not_found",
      kind: "not_found",
      message: `Workspace ${chosen ?? ""} is not in this database. Correct TREADLE_WORKSPACE_ID, or start Treadle with it once.`,
    });
  }
  return {
    organizationId,
    workspaceId: stored.id,
    userId,
    role: "admin",
    via: "loopback",
    scopes: null,
    mayUseAccounts: true,
  };
}
