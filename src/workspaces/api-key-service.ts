import type { Clock } from "../platform/clock.ts";
import type { Database } from "../platform/db/database.ts";
import { AppError, invalidField } from "../platform/errors.ts";
import { type Caller, type Role, roleCovers } from "../platform/http/caller.ts";
import { newId } from "../platform/ids.ts";
import { type ApiKey, apiKeyNotFound, newApiKey, shownPrefix } from "./api-key.ts";
import type { ApiKeyHasher } from "./api-key-hasher.ts";
import {
  findApiKey,
  findIdentityById,
  insertApiKey,
  listApiKeys,
  reachesBeyondAdmin,
  revokeApiKey,
} from "./api-key-store.ts";
import type { IdentityChanges } from "./identity-change-service.ts";
import { findMember } from "./member-store.ts";
import { weakerRole } from "./role.ts";

export type ApiKeyRequest = {
  name: string;
  role?: Role | undefined;
  user_id?: string | undefined;
  /** Null: every workspace of the user. */
  workspace_id?: string | null | undefined;
  expires_at?: Date | null | undefined;
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
      const now = clock.now();
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
      if (request.expires_at && request.expires_at <= now) {
        throw invalidField(["body", "expires_at"], "Must be in the future", request.expires_at.toISOString());
      }
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
        createdAt: now,
        expiresAt: request.expires_at ?? null,
      });
      if (!stored) throw new Error("a newly generated key is already stored");
      return { ...stored, key };
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
          if (key.workspace_id === null && (await reachesBeyondAdmin(tx, key.user_id, caller.userId))) {
            throw forbidden(
              "This key also opens workspaces you do not administer, so you cannot revoke it. Remove its user from this workspace instead.",
            );
          }
          await revokeApiKey(tx, id, now);
        },
      );
    },
  };

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
