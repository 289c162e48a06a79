import type { Caller } from "../../platform/http/access/caller.ts";

/** Who started a run, as far as the platform knows them. */
export type PlatformUser = { workspaceId: string; userId: string };

/**
 * The key under which the platform's own graphs find the user. The library keeps keys with this prefix out of metadata
 * and traces, and clients cannot set it: `withoutAuthKeys` removes it from what they send.
 */
export const platformUserKey = "__treadle_user";

/** The workspace a run belongs to, in the same way. */
export const platformWorkspaceKey = "__treadle_workspace";

/** Without the person, where the credential may not use their accounts: a run has no other use for knowing them. */
export function platformUserConfigurable(caller: Caller): Record<string, unknown> {
  const { workspaceId, userId, mayUseAccounts } = caller;
  const workspace = { [platformWorkspaceKey]: workspaceId };
  if (!mayUseAccounts) return workspace;
  return { ...workspace, [platformUserKey]: { workspaceId, userId } satisfies PlatformUser };
}

export function readPlatformWorkspace(configurable: Record<string, unknown> | undefined): string | undefined {
  return configurable?.[platformWorkspaceKey] as string | undefined;
}

export function readPlatformUser(
  configurable: Record<string, unknown> | undefined,
): PlatformUser | undefined {
  return configurable?.[platformUserKey] as PlatformUser | undefined;
}
