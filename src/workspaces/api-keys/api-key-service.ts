import type { Clock } from "../../platform/clock.ts";
import type { Database } from "../../platform/db/database.ts";
import { AppError, invalidField } from "../../platform/errors.ts";
import { type Caller, type Role, roleCovers } from "../../platform/http/access/caller.ts";
import type { Scope } from "../../platform/http/access/scope.ts";
import { newId } from "../../platform/ids.ts";
import type { IdentityChanges } from "../authentication/identity-change-service.ts";
import { findMember } from "../members/member-store.ts";
import { weakerRole } from "../members/role.ts";
import { type ApiKey, apiKeyNotFound, isSelfMade, newApiKey, roleForScopes, shownPrefix } from "./api-key.ts";
import type { ApiKeyHasher } from "./api-key-hasher.ts";
import { checkScopes, checkUseful, expiryOf } from "./api-key-rights.ts";
import {
  findApiKey,
  findIdentityById,
  insertApiKey,
  listApiKeys,
  reachesBeyondAdmin,
  revokeApiKey,
} from "./api-key-store.ts";

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

export type ApiKeyService = {
  list(
    caller: Caller,
    page: { limit: number; offset: number; include_managed?: boolean | undefined },
  ): Promise<ApiKey[]>;
  create(caller: Caller, request: ApiKeyRequest): Promise<ApiKey & { key: string }>;
  revoke(caller: Caller, id: string): Promise<void>;
};

export function createApiKeyService(options: {
  database: Database;
  clock: Clock;
  hasher: ApiKeyHasher;
  changes: IdentityChanges;
}): ApiKeyService {
  const { database, clock, hasher, changes } = options;

  return {
    list(caller, page) {
      const userId = caller.role === "admin" ? null : caller.userId;
      return listApiKeys(database.sql, { workspaceId: caller.workspaceId, userId }, page);
    },

    async create(caller, request) {
      // Its routes need a scope no service has; this holds wherever the call comes from.
      if (caller.via === "service") throw forbidden("A service makes no keys. Use the key of a person.");
      checkScopes(caller, request);
      const expiresAt = expiryOf(request, clock.now());
      if (request.service) return store(caller, request, await serviceRights(caller, request), expiresAt);
      const userId = request.user_id ?? caller.userId;
      const workspaceId = request.workspace_id === undefined ? caller.workspaceId : request.workspace_id;
      if (userId !== caller.userId && caller.role !== "admin") {
        throw forbidden(
          "Only an admin may create a key for another user. Leave user_id out to create one of your own.",
        );
      }
      if (workspaceId !== null && workspaceId !== caller.workspaceId) {
        throw invalidField(
          ["body", "workspace_id"],
          "Must be the workspace of this request (X-Tenant-Id), or null for every workspace of the user",
          workspaceId,
        );
      }
      if (workspaceId === null) await checkMayOpenAll(caller, userId);
      const member = await findMember(database.sql, caller.workspaceId, userId);
      if (!member) throw invalidField(["body", "user_id"], "Must be a member of this workspace", userId);
      const role = request.role ?? weakerRole(caller.role, member.role);
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
      return store(caller, request, { userId, workspaceId, role }, expiresAt);
    },

    async revoke(caller, id) {
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
    },
  };

  type Rights = { userId: string | null; workspaceId: string | null; role: Role };

  async function store(
    caller: Caller,
    request: ApiKeyRequest,
    { userId, workspaceId, role }: Rights,
    expiresAt: Date | null,
  ): Promise<ApiKey & { key: string }> {
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
      createdBy: await makerOf(caller, userId),
      createdAt: clock.now(),
      expiresAt,
    });
    if (!stored) throw new Error("a newly generated key is already stored");
    return { ...stored, key };
  }

  /** It lives on when whoever made it leaves, so that only an admin makes one. */
  async function serviceRights(caller: Caller, request: ApiKeyRequest): Promise<Rights> {
    if (caller.role !== "admin") {
      throw forbidden(
        "Only an admin may create a service key: it stays when whoever made it leaves. Leave service out to create a key of your own.",
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
  async function makerOf(caller: Caller, userId: string | null): Promise<string | null> {
    if (caller.apiKeyId === undefined) return caller.userId;
    const own = await findIdentityById(database, caller.apiKeyId);
    if (own && isSelfMade(own)) return caller.userId;
    return own && own.created_by !== userId ? own.created_by : null;
  }

  /** Otherwise a key of one workspace could be turned into a key of several. */
  async function checkMayOpenAll(caller: Caller, userId: string): Promise<void> {
    if (userId !== caller.userId) {
      throw forbidden(
        "A key for every workspace can only be created by its own user. Limit it to this workspace.",
      );
    }
    // A person who signed in without a key is limited by none.
    if (caller.via === "console" && caller.apiKeyId === undefined) return;
    const own =
      caller.via !== "session" && caller.apiKeyId && (await findIdentityById(database, caller.apiKeyId));
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
