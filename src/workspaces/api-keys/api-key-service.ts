import type { Clock } from "../../platform/clock.ts";
import type { Database } from "../../platform/db/database.ts";
import { AppError, invalidField } from "../../platform/errors.ts";
import { type Caller, type Role, roleCovers } from "../../platform/http/access/caller.ts";
import type { Scope } from "../../platform/http/access/scope.ts";
import { newId } from "../../platform/ids.ts";
import {
  type ApiKey,
  apiKeyNotFound,
  isSelfMade,
  newApiKey,
  roleForScopes,
  shownPrefix,
} from "../identity/api-key.ts";
import type { ApiKeyHasher } from "../identity/api-key-hasher.ts";
import {
  findApiKey,
  findIdentityById,
  insertApiKey,
  listApiKeys,
  reachesBeyondAdmin,
  revokeApiKey,
} from "../identity/api-key-store.ts";
import type { IdentityChanges } from "../identity/identity-change-service.ts";
import { findMember } from "../identity/member-store.ts";
import { weakerRole } from "../identity/role.ts";
import { checkScopes, checkUseful, defaultRole, expiryOf } from "./api-key-rights.ts";

export type ApiKeyRequest = {
  name: string;
  role?: Role | undefined;
  user_id?: string | undefined;
  /** Null: every workspace of the user. */
  workspace_id?: string | null | undefined;
  /** A key of the workspace itself: no person, no accounts. */
  service?: boolean | undefined;
  scopes?: Scope[] | null | undefined;
  tracing_project?: string | null | undefined;
  expires_at?: Date | null | undefined;
  expires_in_days?: number | null | undefined;
};

type Rights = { userId: string | null; workspaceId: string | null; role: Role };

type ApiKeyServiceOptions = {
  database: Database;
  clock: Clock;
  hasher: ApiKeyHasher;
  changes: IdentityChanges;
};

/** Makes and revokes keys: a caller cannot grant more rights than they have. */
export class ApiKeyService {
  readonly #options: ApiKeyServiceOptions;

  constructor(options: ApiKeyServiceOptions) {
    this.#options = options;
  }

  list(
    caller: Caller,
    page: { limit: number; offset: number; include_managed?: boolean | undefined },
  ): Promise<ApiKey[]> {
    const userId = caller.role === "admin" ? null : caller.userId;
    return listApiKeys(this.#options.database.sql, { workspaceId: caller.workspaceId, userId }, page);
  }

  async create(caller: Caller, request: ApiKeyRequest): Promise<ApiKey & { key: string }> {
    const { clock, database } = this.#options;
    // Its routes need a scope no service has; this also holds for calls from elsewhere.
    if (caller.via === "service") throw forbidden("A service cannot create keys. Use the key of a person.");
    checkScopes(caller, request);
    const expiresAt = expiryOf(request, clock.now());
    if (request.service)
      return this.#store(caller, request, await this.#serviceRights(caller, request), expiresAt);
    const userId = request.user_id ?? caller.userId;
    const workspaceId = request.workspace_id === undefined ? caller.workspaceId : request.workspace_id;
    if (userId !== caller.userId && caller.role !== "admin") {
      throw forbidden(
        "Only an admin may create a key for another user. Leave user_id out to create your own.",
      );
    }
    if (workspaceId !== null && workspaceId !== caller.workspaceId) {
      throw invalidField(
        ["body", "workspace_id"],
        "Must be the workspace of this request (X-Tenant-Id), or null for every workspace of the user",
        workspaceId,
      );
    }
    if (workspaceId === null) await this.#checkMayOpenAll(caller, userId);
    const member = await findMember(database.sql, caller.workspaceId, userId);
    if (!member) throw invalidField(["body", "user_id"], "Must be a member of this workspace", userId);
    const most = weakerRole(caller.role, member.role);
    const role = request.role ?? weakerRole(most, defaultRole(request.scopes ?? null));
    if (!roleCovers(caller.role, role)) {
      throw forbidden(
        `A key of role ${role} can only be created by a caller of that role; yours is ${caller.role}.`,
      );
    }
    if (!roleCovers(member.role, role)) {
      throw invalidField(
        ["body", "role"],
        `Must not exceed the user's role in the workspace (${member.role})`,
        role,
      );
    }
    return this.#store(caller, request, { userId, workspaceId, role }, expiresAt);
  }

  async revoke(caller: Caller, id: string): Promise<void> {
    const { clock, changes } = this.#options;
    const now = clock.now();
    await changes.applyKeepingAdmin(
      {
        organizationId: caller.organizationId,
        now,
        refusal: "This is the last key that administers a workspace.",
      },
      async (tx) => {
        const key = await findApiKey(tx, caller.workspaceId, id);
        if (!key) throw apiKeyNotFound(id);
        const opensAll = key.workspace_id === null && key.user_id !== null;
        if (opensAll && (await reachesBeyondAdmin(tx, key.user_id!, caller.userId))) {
          throw forbidden(
            "This key also opens workspaces you do not administer, so you cannot revoke it. Remove its user from this workspace instead.",
          );
        }
        await revokeApiKey(tx, id, now);
      },
    );
  }

  async #store(
    caller: Caller,
    request: ApiKeyRequest,
    { userId, workspaceId, role }: Rights,
    expiresAt: Date | null,
  ): Promise<ApiKey & { key: string }> {
    const { database, hasher, clock } = this.#options;
    checkUseful(role, request.scopes ?? null);
    const key = newApiKey();
    const stored = await insertApiKey(database.sql, {
      id: newId(),
      organizationId: caller.organizationId,
      userId,
      workspaceId,
      name: request.name,
      prefix: shownPrefix(key),
      hash: await hasher.hash(key),
      role,
      scopes: request.scopes ?? null,
      tracingProject: request.tracing_project ?? null,
      createdBy: await this.#makerOf(caller, userId),
      createdAt: clock.now(),
      expiresAt,
    });
    if (!stored) throw new Error("a newly generated key is already stored");
    return { ...stored, key };
  }

  /** It stays when its creator leaves, so only an admin may create one. */
  async #serviceRights(caller: Caller, request: ApiKeyRequest): Promise<Rights> {
    if (caller.role !== "admin") {
      throw forbidden(
        "Only an admin may create a service key: it stays when its creator leaves. Leave service out to create your own key.",
      );
    }
    if (request.user_id !== undefined) {
      throw invalidField(["body", "user_id"], "A service key belongs to no user", request.user_id);
    }
    if (request.workspace_id !== undefined && request.workspace_id !== caller.workspaceId) {
      throw invalidField(
        ["body", "workspace_id"],
        "A service key belongs to the workspace of the request (X-Tenant-Id)",
        request.workspace_id,
      );
    }
    return {
      userId: null,
      workspaceId: caller.workspaceId,
      role: request.role ?? roleForScopes(request.scopes ?? []),
    };
  }

  /**
   * Who stands behind a new key. A key that somebody else made does not speak for its user: what is made with it is
   * the maker's, and never counts as made by the user it is for.
   */
  async #makerOf(caller: Caller, userId: string | null): Promise<string | null> {
    if (caller.apiKeyId === undefined) return caller.userId;
    const own = await findIdentityById(this.#options.database, caller.apiKeyId);
    if (own && isSelfMade(own)) return caller.userId;
    return own && own.created_by !== userId ? own.created_by : null;
  }

  /** Otherwise a key of one workspace could be turned into a key of several. */
  async #checkMayOpenAll(caller: Caller, userId: string): Promise<void> {
    if (userId !== caller.userId) {
      throw forbidden(
        "A key for every workspace can only be created by its own user. Limit it to this workspace.",
      );
    }
    // A person who signed in without a key is limited by none.
    if (caller.via === "console" && caller.apiKeyId === undefined) return;
    const own =
      caller.via !== "session" &&
      caller.apiKeyId &&
      (await findIdentityById(this.#options.database, caller.apiKeyId));
    if (!own || own.workspace_id !== null) {
      throw forbidden(
        "A key for every workspace can only be created with an API key that opens every workspace itself.",
      );
    }
  }
}

function forbidden(message: string): AppError {
  return new AppError({ code: "api_key.forbidden", kind: "forbidden", message });
}
