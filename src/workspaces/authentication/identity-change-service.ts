import type { Database, Sql } from "../../platform/db/database.ts";
import { AppError } from "../../platform/errors.ts";
import { workspacesWithAdminKey } from "../api-keys/api-key-store.ts";
import { workspacesWithAdminMember } from "../members/member-store.ts";
import { lockOrganization } from "../tenants/workspace-store.ts";
import { announceIdentityChange } from "./identity-change-store.ts";

export type IdentityChanges = {
  /** Runs the change in a transaction; once committed, no process recognises callers from memory. */
  apply<T>(work: (tx: Sql) => Promise<T>): Promise<T>;
  /**
   * The same for a change that takes access away: refused when it would leave a workspace of the organization
   * without any key that administers it, or without any member who does.
   */
  applyKeepingAdmin<T>(
    options: { organizationId: string; now: Date; refusal: string },
    work: (tx: Sql) => Promise<T>,
  ): Promise<T>;
};

export function createIdentityChanges(options: { database: Database; forget: () => void }): IdentityChanges {
  const apply: IdentityChanges["apply"] = async (work) => {
    const result = await options.database.transaction(async (tx) => {
      const value = await work(tx);
      await announceIdentityChange(tx);
      return value;
    });
    options.forget();
    return result;
  };
  return {
    apply,
    applyKeepingAdmin: ({ organizationId, now, refusal }, work) =>
      apply(async (tx) => {
        await lockOrganization(tx, organizationId);
        const keysBefore = await workspacesWithAdminKey(tx, organizationId, now);
        const membersBefore = await workspacesWithAdminMember(tx, organizationId);
        const result = await work(tx);
        const lostKeys = without(keysBefore, await workspacesWithAdminKey(tx, organizationId, now));
        if (lostKeys.length > 0) {
          throw lastAdmin(
            `${refusal} Create another admin key first (for workspace ${lostKeys.join(", ")}).`,
          );
        }
        const lostMembers = without(membersBefore, await workspacesWithAdminMember(tx, organizationId));
        if (lostMembers.length > 0) {
          throw lastAdmin(
            `Nobody else administers the workspace ${lostMembers.join(", ")}. Make another member an admin of it first.`,
          );
        }
        return result;
      }),
  };
}

function without(before: readonly string[], after: readonly string[]): string[] {
  return before.filter((id) => !after.includes(id));
}

function lastAdmin(message: string): AppError {
  return new AppError({ code: "workspace.last_admin", kind: "conflict", message });
}
