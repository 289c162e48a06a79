import type { Database } from "../../platform/db/database.ts";
import { roleCovers } from "../../platform/http/access/caller.ts";
import { findMember } from "../identity/member-store.ts";
import { workspaceNotFound } from "../identity/workspace.ts";
import { findStoredWorkspace } from "../identity/workspace-store.ts";

/** What the other areas look up about workspaces and their members. */
export class WorkspaceDirectory {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  async nameOf(workspaceId: string): Promise<string> {
    const workspace = await findStoredWorkspace(this.#database.sql, workspaceId);
    if (!workspace || workspace.deleted) throw workspaceNotFound(workspaceId);
    return workspace.name;
  }

  async has(workspaceId: string): Promise<boolean> {
    const workspace = await findStoredWorkspace(this.#database.sql, workspaceId);
    return workspace !== undefined && !workspace.deleted;
  }

  /** Whether the user is a member whose role permits it. */
  async mayStartRuns(workspaceId: string, userId: string): Promise<boolean> {
    const member = await findMember(this.#database.sql, workspaceId, userId);
    return member !== undefined && roleCovers(member.role, "editor");
  }
}
