import type { Clock } from "../../platform/clock.ts";
import type { Database, Sql } from "../../platform/db/database.ts";
import { AppError } from "../../platform/errors.ts";
import type { Caller } from "../../platform/http/access/caller.ts";
import { newId } from "../../platform/ids.ts";
import { findIdentityById } from "../identity/api-key-store.ts";
import type { IdentityChanges } from "../identity/identity-change-service.ts";
import { insertMembership } from "../identity/member-store.ts";
import { weakerRole } from "../identity/role.ts";
import { type VisibleWorkspace, workspaceNotFound } from "../identity/workspace.ts";
import {
  findWorkspace,
  insertWorkspace,
  listWorkspaces,
  markWorkspaceDeleted,
  renameWorkspace,
  type Sight,
} from "../identity/workspace-store.ts";

type WorkspaceServiceOptions = {
  database: Database;
  clock: Clock;
  changes: IdentityChanges;
  /** The workspace this server was started with; credential-free callers act in it. */
  bootstrapWorkspaceId: () => string | undefined;
  /** Other areas may object, by throwing, to losing a workspace they still run things in. */
  beforeDelete: (workspaceId: string) => Promise<void>;
  /** They release what they keep in it, in the same transaction. */
  onDelete: (tx: Sql, workspaceId: string) => Promise<void>;
};

/** Use cases of workspaces, as far as the caller sees them. */
export class WorkspaceService {
  readonly #options: WorkspaceServiceOptions;

  constructor(options: WorkspaceServiceOptions) {
    this.#options = options;
  }

  async list(caller: Caller, page: { limit: number; offset: number }): Promise<VisibleWorkspace[]> {
    const sight = await this.#sightOf(caller);
    const found = await listWorkspaces(this.#options.database.sql, sight, page);
    return found.map((workspace) => seenBy(sight, workspace));
  }

  async get(caller: Caller, id: string): Promise<VisibleWorkspace> {
    const sight = await this.#sightOf(caller);
    const found = await findWorkspace(this.#options.database.sql, sight, id);
    if (!found) throw workspaceNotFound(id);
    return seenBy(sight, found);
  }

  async create(caller: Caller, name: string): Promise<VisibleWorkspace> {
    const { clock, changes } = this.#options;
    const now = clock.now();
    const workspace = await changes.apply(async (tx) => {
      const created = await insertWorkspace(tx, {
        id: newId(),
        organizationId: caller.organizationId,
        name,
        now,
      });
      await insertMembership(tx, { workspaceId: created.id, userId: caller.userId, role: "admin", now });
      return created;
    });
    return { ...workspace, role: "admin" };
  }

  async rename(caller: Caller, id: string, name: string): Promise<VisibleWorkspace> {
    const { database, clock } = this.#options;
    await this.#checkAdministers(caller, id);
    await renameWorkspace(database.sql, id, name, clock.now());
    return this.get(caller, id);
  }

  async remove(caller: Caller, id: string): Promise<void> {
    const { changes, clock } = this.#options;
    await this.#checkAdministers(caller, id);
    if (id === this.#options.bootstrapWorkspaceId()) {
      throw new AppError({
        code: "workspace.in_use",
        kind: "conflict",
        message: `Workspace ${id} is the one this server was started with and cannot be deleted. Start it with another TREADLE_WORKSPACE_ID first.`,
      });
    }
    await this.#options.beforeDelete(id);
    await changes.apply(async (tx) => {
      await markWorkspaceDeleted(tx, id, clock.now());
      await this.#options.onDelete(tx, id);
    });
  }

  async #sightOf(caller: Caller): Promise<Sight> {
    const key =
      caller.apiKeyId === undefined
        ? undefined
        : await findIdentityById(this.#options.database, caller.apiKeyId);
    // A person in the console, by no key: the memberships alone decide.
    if (caller.via === "console" && !key) {
      const { organizationId, userId } = caller;
      return { organizationId, userId, keyRole: "admin", onlyWorkspaceId: null, isService: false };
    }
    return {
      organizationId: caller.organizationId,
      userId: caller.userId,
      keyRole: key?.role ?? caller.role,
      onlyWorkspaceId: key ? key.workspace_id : caller.workspaceId,
      isService: caller.via === "service",
    };
  }

  async #checkAdministers(caller: Caller, id: string): Promise<void> {
    const workspace = await this.get(caller, id);
    // A session belongs to one workspace, even though its user may see the names of the others.
    const elsewhere = caller.via === "session" && id !== caller.workspaceId;
    if (workspace.role !== "admin" || elsewhere) {
      throw new AppError({
        code: "workspace.forbidden",
        kind: "forbidden",
        message: elsewhere
          ? "This session belongs to another workspace. Start a session in the workspace you want to change."
          : `Changing workspace ${id} needs the role admin in it; yours is ${workspace.role}.`,
      });
    }
  }
}

function seenBy(sight: Sight, workspace: VisibleWorkspace): VisibleWorkspace {
  return { ...workspace, role: weakerRole(sight.keyRole, workspace.role) };
}
