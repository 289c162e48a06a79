import type { Caller } from "../../platform/http/access/caller.ts";

/** Who started a run, as far as the platform knows them. */
export type PlatformUser = { workspaceId: string; userId: string };

/**
 * Where the platform's own graphs find it. The library keeps what begins so out of metadata and traces, and clients
 * cannot set it: `withoutAuthKeys` takes it from whatever they send.
 */
export const platformUserKey = "__treadle_user";

/** Nobody, where the credential may not use that person's accounts: a run has no other use for knowing them. */
export function platformUserConfigurable(caller: Caller): Record<string, unknown> {
  const { workspaceId, userId, mayUseAccounts } = caller;
  if (!mayUseAccounts) return {};
  return { [platformUserKey]: { workspaceId, userId } satisfies PlatformUser };
}

export function readPlatformUser(
  configurable: Record<string, unknown> | undefined,
): PlatformUser | undefined {
  return configurable?.[platformUserKey] as PlatformUser | undefined;
}
