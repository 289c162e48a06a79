import { AppError } from "../../platform/errors.ts";

/** How a user proved who they are: a key, a one-time link, or the single sign-on provider. */
export const signInMethods = ["key", "link", "oidc"] as const;
export type SignInMethod = (typeof signInMethods)[number];

export type ConsoleSession = {
  id: string;
  organization_id: string;
  user_id: string;
  workspace_id: string | null;
  api_key_id: string | null;
  method: SignInMethod;
  user_agent: string;
  address: string | null;
  created_at: Date;
  last_seen_at: Date;
  idle_expires_at: Date;
  expires_at: Date;
};

export type SessionLimits = {
  /** Ends when it was not used for this long. */
  idleMs: number;
  /** Ends after this long in any case. */
  lifetimeMs: number;
};

export const defaultSessionLimits: SessionLimits = { idleMs: 12 * 3_600_000, lifetimeMs: 7 * 24 * 3_600_000 };

/** The oldest are removed: a person does not have more browsers than that. */
export const sessionsPerUser = 20;

export function isLive(session: Pick<ConsoleSession, "idle_expires_at" | "expires_at">, now: Date): boolean {
  return session.idle_expires_at > now && session.expires_at > now;
}

/** Never past the end of the session or of the key it was started with. */
export function endsOf(
  now: Date,
  limits: SessionLimits,
  keyExpiresAt: Date | null,
): { idleExpiresAt: Date; expiresAt: Date } {
  const end = now.getTime() + limits.lifetimeMs;
  const expiresAt = keyExpiresAt === null ? end : Math.min(end, keyExpiresAt.getTime());
  return {
    expiresAt: new Date(expiresAt),
    idleExpiresAt: new Date(Math.min(now.getTime() + limits.idleMs, expiresAt)),
  };
}

export function sessionNotFound(id: string): AppError {
  return new AppError({
    code: "session.not_found",
    kind: "not_found",
    message: `Session ID ${id} not found. It may have ended already.`,
  });
}

export function sessionEnded(): AppError {
  return new AppError({
    code: "session.ended",
    kind: "unauthenticated",
    message: "Your session has ended. Sign in again.",
  });
}
