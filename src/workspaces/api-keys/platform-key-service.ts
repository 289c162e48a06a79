import type { Clock } from "../../platform/clock.ts";
import type { Database, Unlisten } from "../../platform/db/database.ts";
import type { Scope } from "../../platform/http/access/scope.ts";
import { newId } from "../../platform/ids.ts";
import type { IdentityChanges } from "../authentication/identity-change-service.ts";
import { identityChannel } from "../authentication/identity-change-store.ts";
import { findStoredWorkspace } from "../tenants/workspace-store.ts";
import { isExpired, newApiKey, roleForScopes, shownPrefix } from "./api-key.ts";
import type { ApiKeyHasher } from "./api-key-hasher.ts";
import { findIdentityById, insertApiKey, revokeApiKey } from "./api-key-store.ts";
import { listTracingKeys } from "./platform-key-store.ts";

export type PlatformKeyRequest = {
  name: string;
  scopes: Scope[];
  tracingProject: string | null;
  expiresAt: Date;
};

/**
 * Keys the platform makes for itself: services of a workspace, with the least that does the work, for a while. Lists
 * show them on request only; revoking one makes the platform replace it.
 */
export type PlatformKeys = {
  /** Null when the workspace is gone. */
  issue(workspaceId: string, wanted: PlatformKeyRequest): Promise<{ id: string; key: string } | null>;
  isUsable(id: string, workspaceId: string): Promise<boolean>;
  /** Revokes those of the platform's tracing keys made before `before` that are not among `inUse`. */
  revokeUnusedTracing(inUse: readonly string[], before: Date): Promise<number>;
  /** Calls back when keys or members may have changed, here or in another process. */
  watch(onChange: () => void): Promise<Unlisten>;
};

export function createPlatformKeys(options: {
  database: Database;
  clock: Clock;
  hasher: ApiKeyHasher;
  changes: IdentityChanges;
}): PlatformKeys {
  const { database, clock, hasher, changes } = options;
  return {
    async issue(workspaceId, { name, scopes, tracingProject, expiresAt }) {
      const workspace = await findStoredWorkspace(database.sql, workspaceId);
      if (!workspace || workspace.deleted) return null;
      const key = newApiKey();
      const stored = await insertApiKey(database.sql, {
        id: newId(),
        organizationId: workspace.organization_id,
        userId: null,
        workspaceId,
        name,
        prefix: shownPrefix(key),
        hash: await hasher.hash(key),
        role: roleForScopes(scopes),
        scopes,
        tracingProject,
        createdBy: null,
        createdAt: clock.now(),
        expiresAt,
        managed: true,
      });
      if (!stored) throw new Error("a newly generated key is already stored");
      return { id: stored.id, key };
    },
    watch: (onChange) => database.listen(identityChannel, onChange, onChange),
    async isUsable(id, workspaceId) {
      const identity = await findIdentityById(database, id);
      if (!identity || isExpired(identity.expires_at, clock.now())) return false;
      return identity.memberships.some((member) => member.workspace_id === workspaceId);
    },
    async revokeUnusedTracing(inUse, before) {
      const unused = await listTracingKeys(database.sql, before, inUse);
      if (unused.length === 0) return 0;
      await changes.apply(async (tx) => {
        for (const id of unused) await revokeApiKey(tx, id, clock.now());
      });
      return unused.length;
    },
  };
}
