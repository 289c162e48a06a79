import type { Clock } from "../../platform/clock.ts";
import type { Database, Sql } from "../../platform/db/database.ts";
import { AppError } from "../../platform/errors.ts";
import { looksLikeJwt } from "../../platform/http/access/jwt-shape.ts";
import { newId } from "../../platform/ids.ts";
import type { Logger } from "../../platform/logger.ts";
import { newApiKey, shownPrefix } from "../identity/api-key.ts";
import type { ApiKeyHasher } from "../identity/api-key-hasher.ts";
import { findKeyState, insertApiKey } from "../identity/api-key-store.ts";
import { announceIdentityChange } from "../identity/identity-change-store.ts";
import { insertMembership, keepBootstrapUser, saveMemberRole } from "../identity/member-store.ts";
import {
  findFirstOrganizationId,
  findFirstWorkspaceId,
  findStoredWorkspace,
  insertOrganization,
  insertWorkspace,
  lockBootstrap,
  restoreWorkspace,
} from "../identity/workspace-store.ts";
import { findKeyPlace, insertKeyPlace, type KeyPlace } from "./installation-store.ts";

export type BootstrapConfig = {
  apiKey?: string | undefined;
  workspaceId?: string | undefined;
  /** The key of an earlier start, when the operator still has it. */
  rememberedKey?: string | undefined;
  /** Where servers share a database, one start makes a key and keeps it here; later ones make no other. */
  keyKeeping?: KeyKeeping | undefined;
};

/** Without a place for it, every start has a key. */
export type Bootstrap = {
  (config: BootstrapConfig & { keyKeeping?: undefined }): Promise<Bootstrapped & { apiKey: string }>;
  (config: BootstrapConfig): Promise<Bootstrapped>;
};

/** `keep` runs before the key becomes valid: a key that was not kept could not be shown again. */
export type KeyKeeping = KeyPlace & { keep(key: { workspaceId: string; apiKey: string }): Promise<unknown> };

export type Bootstrapped = {
  organizationId: string;
  workspaceId: string;
  userId: string;
} & (
  | {
      /** The key the operator may use: given, remembered or new. */
      apiKey: string;
      /** Where it comes from; `generated` and `added` mean that this start stored it. */
      apiKeyOrigin: "generated" | "added" | "known";
    }
  /** An earlier start has made it. */
  | { apiKey: null; apiKeyOrigin: "elsewhere"; keyPlace: KeyPlace }
);

/**
 * Makes sure that there is an organization, a workspace, an administrator and a key the operator holds.
 * Every start runs it; a lock lets processes that start at once agree.
 */
export async function bootstrapIdentity(options: {
  database: Database;
  clock: Clock;
  logger: Logger;
  hasher: ApiKeyHasher;
  config: BootstrapConfig;
}): Promise<Bootstrapped> {
  const { database, hasher, logger, config } = options;
  const now = options.clock.now();
  const given = config.apiKey === undefined ? undefined : usableKey(config.apiKey);
  // Hashed before the transaction: the hasher needs a connection of its own.
  const candidates = await Promise.all(
    [given, config.rememberedKey]
      .filter((key) => key !== undefined)
      .map(async (key) => ({ key, hash: await hasher.hash(key) })),
  );
  const fresh = newApiKey();
  const freshHash = await hasher.hash(fresh);

  return database.transaction(async (tx) => {
    await lockBootstrap(tx);
    await announceIdentityChange(tx);
    const organizationId = await keepOrganization(tx, now);
    const workspace = await keepWorkspace(tx, organizationId, config.workspaceId, now);
    const userId = await keepBootstrapUser(tx, {
      id: newId(),
      organizationId,
      email: "admin@localhost",
      name: "Administrator",
      now,
    });
    if (workspace.isNew) await makeAdmin(tx, workspace.id, userId, now);
    const result = { organizationId, workspaceId: workspace.id, userId };

    for (const { key, hash } of candidates) {
      const state = await findKeyState(tx, hash, now);
      if (state === "active") return { ...result, apiKey: key, apiKeyOrigin: "known" };
      if (state === "unknown" && key === given) {
        await storeKey(tx, { ...result, key, hash, name: "TREADLE_API_KEY", now });
        return { ...result, apiKey: key, apiKeyOrigin: "added" };
      }
      // Taking a revoked key back into use because a setting still names it would undo the revocation.
      if (key === given)
        logger.warn(`TREADLE_API_KEY is a key that is ${state}, and it stays ${state}. Set another one.`);
    }
    const { keyKeeping } = config;
    const keyPlace = keyKeeping && (await findKeyPlace(tx));
    if (keyPlace) return { ...result, apiKey: null, apiKeyOrigin: "elsewhere", keyPlace };
    await storeKey(tx, { ...result, key: fresh, hash: freshHash, name: "Generated at start", now });
    if (keyKeeping) {
      await insertKeyPlace(tx, keyKeeping, now);
      await keyKeeping.keep({ workspaceId: workspace.id, apiKey: fresh });
    }
    return { ...result, apiKey: fresh, apiKeyOrigin: "generated" };
  });
}

async function keepOrganization(tx: Sql, now: Date): Promise<string> {
  const known = await findFirstOrganizationId(tx);
  if (known) return known;
  const id = newId();
  await insertOrganization(tx, id, "Default organization", now);
  return id;
}

async function keepWorkspace(
  tx: Sql,
  organizationId: string,
  wanted: string | undefined,
  now: Date,
): Promise<{ id: string; isNew: boolean }> {
  const first = await findFirstWorkspaceId(tx, organizationId);
  const id = wanted?.toLowerCase() ?? first;
  const stored = id === undefined ? undefined : await findStoredWorkspace(tx, id);
  if (stored && stored.organization_id !== organizationId) {
    throw new AppError({
      code: "workspace.foreign",
      kind: "invalid",
      message: `TREADLE_WORKSPACE_ID ${id} belongs to another organization of this database. Choose another id.`,
    });
  }
  if (stored?.deleted) await restoreWorkspace(tx, stored.id);
  if (stored) return { id: stored.id, isNew: stored.deleted };
  const name = first === undefined ? "Default workspace" : `Workspace ${id!.slice(0, 8)}`;
  const created = await insertWorkspace(tx, { id: id ?? newId(), organizationId, name, now });
  return { id: created.id, isNew: true };
}

/** A key that opens every workspace of the administrator, who is made admin where it starts. */
async function storeKey(
  tx: Sql,
  key: {
    organizationId: string;
    workspaceId: string;
    userId: string;
    key: string;
    hash: string;
    name: string;
    now: Date;
  },
): Promise<void> {
  await makeAdmin(tx, key.workspaceId, key.userId, key.now);
  await insertApiKey(tx, {
    id: newId(),
    organizationId: key.organizationId,
    userId: key.userId,
    workspaceId: null,
    name: key.name,
    prefix: shownPrefix(key.key),
    hash: key.hash,
    role: "admin",
    createdBy: key.userId,
    createdAt: key.now,
    expiresAt: null,
  });
}

async function makeAdmin(tx: Sql, workspaceId: string, userId: string, now: Date): Promise<void> {
  const membership = { workspaceId, userId, role: "admin" as const, now };
  if (!(await insertMembership(tx, membership))) await saveMemberRole(tx, membership);
}

function usableKey(text: string): string {
  const key = text.trim();
  if (/^[\x21-\x7e]{16,4096}$/.test(key) && !looksLikeJwt(key)) return key;
  throw new AppError({
    code: "config.invalid",
    kind: "invalid",
    message:
      "TREADLE_API_KEY must be 16 to 4,096 printable ASCII characters without spaces, because it is sent in an HTTP header. It must not be a JWT, because those are read as sessions.",
  });
}
