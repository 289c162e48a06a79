import type { Principal } from "../../platform/http/access/caller.ts";
import { isPlain } from "./auth-filter.ts";
import { platformUserKey, platformWorkspaceKey } from "./platform-user.ts";

/** The user the studio's pages act as; handlers recognise it by this name. */
export const studioPrincipal: Principal = {
  identity: "langgraph-studio-user",
  permissions: [],
  fields: {
    kind: "StudioUser",
    identity: "langgraph-studio-user",
    display_name: "langgraph-studio-user",
    is_authenticated: true,
    permissions: [],
  },
};

/** What `authenticate` may return: a name, or an object with an `identity`. Null when it is neither. */
export function toPrincipal(returned: unknown): Principal | null {
  const given = typeof returned === "string" ? { identity: returned } : returned;
  if (!isPlain(given) || typeof given.identity !== "string" || given.identity === "") return null;
  if (given.is_authenticated === false) return null;
  const permissions = Array.isArray(given.permissions) ? given.permissions.map(String) : [];
  const name = typeof given.display_name === "string" ? given.display_name : given.identity;
  return {
    identity: given.identity,
    permissions,
    fields: { ...given, display_name: name, is_authenticated: true, permissions },
  };
}

const authKeys = [
  "langgraph_auth_user",
  "langgraph_auth_user_id",
  "langgraph_auth_permissions",
  platformUserKey,
  platformWorkspaceKey,
];

/** What graphs read about the caller from `configurable`. */
export function principalConfigurable(principal: Principal): Record<string, unknown> {
  return {
    langgraph_auth_user: principal.fields,
    langgraph_auth_user_id: principal.identity,
    langgraph_auth_permissions: principal.permissions,
  };
}

/** Without those keys: a caller must not be able to set its identity, nor to read that of another. */
export function withoutAuthKeys(configurable: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(configurable).filter(([key]) => !authKeys.includes(key)));
}
