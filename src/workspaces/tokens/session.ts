import { z } from "zod";
import { type Caller, roles } from "../../platform/http/access/caller.ts";

export const sessionLifetimeMs = 60 * 60 * 1000;
export const sessionIssuer = "treadle";

/** The claims of a console session, besides the registered claims. */
export const sessionClaims = z.object({
  sub: z.guid(),
  organization_id: z.guid(),
  workspace_id: z.guid(),
  role: z.enum(roles),
  /** The key that started the session: revoking it ends the session. */
  key_id: z.guid(),
});
export type SessionClaims = z.infer<typeof sessionClaims>;

/** A session never outlives the key that started it. */
export function sessionExpiry(now: Date, keyExpiresAt: Date | null): Date {
  const end = now.getTime() + sessionLifetimeMs;
  return new Date(keyExpiresAt === null ? end : Math.min(end, keyExpiresAt.getTime()));
}

export function claimsOf(caller: Caller & { apiKeyId: string }): SessionClaims {
  return {
    sub: caller.userId,
    organization_id: caller.organizationId,
    workspace_id: caller.workspaceId,
    role: caller.role,
    key_id: caller.apiKeyId,
  };
}
