import { createHmac } from "node:crypto";
import { AppError } from "../../platform/errors.ts";
import { type Role, roleCovers } from "../../platform/http/access/caller.ts";
import { type Scope, scopesCover } from "../../platform/http/access/scope.ts";
import { newSecret } from "../../platform/ids.ts";

/** What lists show of a key; the key itself is only ever in the answer to its creation. */
export type ApiKey = {
  id: string;
  organization_id: string;
  /** Null: a service of the workspace, which is no person. */
  user_id: string | null;
  workspace_id: string | null;
  name: string;
  prefix: string;
  role: Role;
  /** Null: everything the role allows. */
  scopes: Scope[] | null;
  /** The name of the one tracing project it may write to. */
  tracing_project: string | null;
  /** Null: not known. */
  created_by: string | null;
  created_at: Date;
  last_used_at: Date | null;
  expires_at: Date | null;
  /** The platform's own, made for itself. */
  managed: boolean;
};

/** What a valid key gives: the user and the workspaces it opens. */
export type KeyIdentity = {
  id: string;
  hash: string;
  organization_id: string;
  user_id: string | null;
  /** The key's own role; the membership may allow less. */
  role: Role;
  /** The workspace the key is limited to; null means all of `memberships`. */
  workspace_id: string | null;
  expires_at: Date | null;
  scopes: Scope[] | null;
  tracing_project: string | null;
  created_by: string | null;
  /** Of a service: the one workspace it belongs to. */
  memberships: { workspace_id: string; role: Role }[];
};

export const generatedStart = "trk_";

export function newApiKey(): string {
  return `${generatedStart}${newSecret(32)}`;
}

/** Enough to distinguish keys, too little to guess one; an operator's own key may be short, so less of it. */
export function shownPrefix(key: string): string {
  return key.startsWith(generatedStart) && key.length >= 40
    ? `${key.slice(0, 8)}…${key.slice(-4)}`
    : `${key.slice(0, 3)}…`;
}

/**
 * A keyed hash and not a slow one: generated keys cannot be guessed, and a copy of the database alone does not
 * hold the pepper, so an operator's own shorter key cannot be guessed from it either.
 */
export function hashApiKey(pepper: string, key: string): string {
  return createHmac("sha256", pepper).update(key).digest("hex");
}

export function isExpired(expiresAt: Date | null, now: Date): boolean {
  return expiresAt !== null && expiresAt.getTime() <= now.getTime();
}

/**
 * A user who makes a key for another person knows that key, and must not reach that person's connected accounts with
 * it. If the maker of a key is not known, the same is assumed.
 */
export function isSelfMade(key: Pick<KeyIdentity, "user_id" | "created_by">): boolean {
  return key.user_id !== null && key.created_by === key.user_id;
}

export function mayUseAccounts(key: Pick<KeyIdentity, "user_id" | "created_by" | "scopes">): boolean {
  return isSelfMade(key) && scopesCover(key.scopes, "accounts");
}

/** The least role a scope is of any use to. */
export const scopeRoles: Record<Scope, Role> = {
  read: "viewer",
  runs: "editor",
  "traces:write": "editor",
  deploy: "editor",
  export: "admin",
  accounts: "editor",
  listener: "editor",
  admin: "admin",
};

/** The least role that makes every one of the scopes useful. */
export function roleForScopes(wanted: readonly Scope[]): Role {
  return wanted
    .map((scope) => scopeRoles[scope])
    .reduce((one, other) => (roleCovers(one, other) ? one : other), "viewer");
}

export function badCredential(message: string): AppError {
  return new AppError({ code: "auth.bad_credential", kind: "unauthenticated", message });
}

export function apiKeyNotFound(id: string): AppError {
  return new AppError({
    code: "api_key.not_found",
    kind: "not_found",
    message: `API key ID ${id} not found.`,
  });
}
