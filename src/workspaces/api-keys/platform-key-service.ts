import type { Clock } from "../../platform/clock.ts";
import type { Database, Unlisten } from "../../platform/db/database.ts";
import type { Scope } from "../../platform/http/access/scope.ts";
import { newId } from "../../platform/ids.ts";
import { isExpired, newApiKey, roleForScopes, shownPrefix } from "../identity/api-key.ts";
import type { ApiKeyHasher } from "../identity/api-key-hasher.ts";
import { findIdentityById, insertApiKey, revokeApiKey } from "../identity/api-key-store.ts";
import type { IdentityChanges } from "../identity/identity-change-service.ts";
import { identityChannel } from "../identity/identity-change-store.ts";
import { findStoredWorkspace } from "../identity/workspace-store.ts";
import { listTracingKeys } from "./platform-key-store.ts";

export type PlatformKeyRequest = {
  name: string;
  scopes: Scope[];
  tracingProject: string | null;
  expiresAt: Date;
};

type PlatformKeysOptions = {
  database: Database;
  clock: Clock;
  hasher: ApiKeyHasher;
  changes: IdentityChanges;
};

/**
 * Keys the platform makes for itself: services of a workspace, with the least that does the work, for a while. Lists
 * show them on request only; revoking one makes the platform replace it.
 */
export class PlatformKeys {
  readonly #options: PlatformKeysOptions;

  constructor(options: PlatformKeysOptions) {
    this.#options = options;
  }

  /** Null when the workspace is gone. */
  async issue(
    workspaceId: string,
    { name, scopes, tracingProject, expiresAt }: PlatformKeyRequest,
  ): Promise<{ id: string; key: string } | null> {
    const { database, hasher, clock } = this.#options;
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
  }

  /** Calls back when keys or members may have changed, here or in another process. */
  watch(onChange: () => void): Promise<Unlisten> {
    return this.#options.database.listen(identityChannel, onChange, onChange);
  }

  async isUsable(id: string, workspaceId: string): Promise<boolean> {
    const { database, clock } = this.#options;
    const identity = await findIdentityById(database, id);
    if (!identity || isExpired(identity.expires_at, clock.now())) return false;
    return identity.memberships.some((member) => member.workspace_id === workspaceId);
  }

  /** Revokes those of the platform's tracing keys made before `before` that are not among `inUse`. */
  async revokeUnusedTracing(inUse: readonly string[], before: Date): Promise<number> {
    const { database, changes, clock } = this.#options;
    const unused = await listTracingKeys(database.sql, before, inUse);
    if (unused.length === 0) return 0;
    await changes.apply(async (tx) => {
      for (const id of unused) await revokeApiKey(tx, id, clock.now());
    });
    return unused.length;
  }
}
