import type { Clock } from "../platform/clock.ts";
import type { Database, Unlisten } from "../platform/db/database.ts";
import { type Role, roleCovers } from "../platform/http/caller.ts";
import { newId } from "../platform/ids.ts";
import { isExpired, newApiKey, shownPrefix } from "./api-key.ts";
import type { ApiKeyHasher } from "./api-key-hasher.ts";
import { findIdentityById, insertApiKey } from "./api-key-store.ts";
import { identityChannel } from "./identity-change-store.ts";
import { listKeyOwners } from "./platform-key-store.ts";
import { weakerRole } from "./role.ts";

/** Keys the platform makes for itself. Lists show them on request only; revoking one makes the platform replace it. */
export type PlatformKeys = {
  /** Null when the workspace has no member who could own such a key. */
  issue(
    workspaceId: string,
    wanted: { name: string; role: Role },
  ): Promise<{ id: string; key: string } | null>;
  isUsable(id: string, workspaceId: string, role: Role): Promise<boolean>;
  /** Calls back when keys or members may have changed, here or in another process. */
  watch(onChange: () => void): Promise<Unlisten>;
};

export function createPlatformKeys(options: {
  database: Database;
  clock: Clock;
  hasher: ApiKeyHasher;
}): PlatformKeys {
  const { database, clock, hasher } = options;
  return {
    async issue(workspaceId, { name, role }) {
      const owner = (await listKeyOwners(database.sql, workspaceId)).find((member) =>
        roleCovers(member.role, role),
      );
      if (!owner) return null;
      const key = newApiKey();
      const stored = await insertApiKey(database.sql, {
        id: newId(),
        organizationId: owner.organization_id,
        userId: owner.user_id,
        workspaceId,
        name,
        prefix: shownPrefix(key),
        hash: await hasher.hash(key),
        role,
        createdAt: clock.now(),
        expiresAt: null,
        managed: true,
      });
      if (!stored) throw new Error("a newly generated key is already stored");
      return { id: stored.id, key };
    },
    watch: (onChange) => database.listen(identityChannel, onChange, onChange),
    async isUsable(id, workspaceId, role) {
      const identity = await findIdentityById(database, id);
      if (!identity || isExpired(identity.expires_at, clock.now())) return false;
      const membership = identity.memberships.find((member) => member.workspace_id === workspaceId);
      return membership !== undefined && roleCovers(weakerRole(identity.role, membership.role), role);
    },
  };
}
