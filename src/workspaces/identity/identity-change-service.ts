import type { Database, Sql } from "../../platform/db/database.ts";
import { AppError } from "../../platform/errors.ts";
import { workspacesWithAdminKey } from "./api-key-store.ts";
import { announceIdentityChange } from "./identity-change-store.ts";
import { workspacesWithAdminMember } from "./member-store.ts";
import { lockOrganization } from "./workspace-store.ts";

type IdentityChangesOptions = { database: Database; forget: () => void };

/** Every change of who may do what goes through here. */
export class IdentityChanges {
  readonly #options: IdentityChangesOptions;

  constructor(options: IdentityChangesOptions) {
    this.#options = options;
  }

  /** Runs the change in a transaction; once committed, no process recognises callers from memory. */
  async apply<T>(work: (tx: Sql) => Promise<T>): Promise<T> {
    const result = await this.#options.database.transaction(async (tx) => {
      const value = await work(tx);
      await announceIdentityChange(tx);
      return value;
    });
    this.#options.forget();
    return result;
  }

  /**
   * The same for a change that takes access away: refused when it would leave a workspace of the organization
   * without any key that administers it, or without any member who does.
   */
  applyKeepingAdmin<T>(
    { organizationId, now, refusal }: { organizationId: string; now: Date; refusal: string },
    work: (tx: Sql) => Promise<T>,
  ): Promise<T> {
    return this.apply(async (tx) => {
      await lockOrganization(tx, organizationId);
      const keysBefore = await workspacesWithAdminKey(tx, organizationId, now);
      const membersBefore = await workspacesWithAdminMember(tx, organizationId);
      const result = await work(tx);
      const lostKeys = without(keysBefore, await workspacesWithAdminKey(tx, organizationId, now));
      if (lostKeys.length > 0) {
        throw lastAdmin(`${refusal} Create another admin key first (for workspace ${lostKeys.join(", ")}).`);
      }
      const lostMembers = without(membersBefore, await workspacesWithAdminMember(tx, organizationId));
      if (lostMembers.length > 0) {
        throw lastAdmin(
          `Nobody else administers the workspace ${lostMembers.join(", ")}. Make another member an admin of it first.`,
        );
      }
      return result;
    });
  }
}

function without(before: readonly string[], after: readonly string[]): string[] {
  return before.filter((id) => !after.includes(id));
}

function lastAdmin(message: string): AppError {
  return new AppError({ code: "workspace.last_admin", kind: "conflict", message });
}
