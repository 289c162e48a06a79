import { AppError } from "../../platform/errors.ts";

export const tokenStatuses = ["active", "dead"] as const;
export type TokenStatus = (typeof tokenStatuses)[number];

/** Whose token it is. `subject` and `agent_id` are empty if none is named. */
export type TokenIdentity = {
  workspaceId: string;
  provider: string;
  ownerId: string;
  subject: string;
  agentId: string;
};

/** A stored token; its secrets are sealed. */
export type Token = {
  id: string;
  workspace_id: string;
  provider: string;
  provider_id: string;
  owner_id: string;
  subject: string;
  agent_id: string;
  status: TokenStatus;
  access_token_sealed: string;
  refresh_token_sealed: string | null;
  scopes: string[];
  expires_at: Date | null;
  stale_at: Date | null;
  refresh_at: Date | null;
  refresh_failures: number;
  account_key: string | null;
  provider_account_label: string | null;
  metadata: Record<string, unknown> | null;
  is_default: boolean;
  version: number;
  created_at: Date;
  updated_at: Date;
};

export type Lifetime = { expiresAt: Date | null; staleAt: Date | null; refreshAt: Date | null };

const readerSkewMs = 60_000;
const aheadMs = 5 * 60_000;
/** Of a short life, this part is used up before it is renewed. */
const usablePart = 0.8;

/**
 * When a token ends, when a reader must not get it any more without a refresh, and when the background job renews
 * it. A token of a few minutes is not renewed for ever: the margins shrink with its life.
 */
export function lifetimeOf(expiresInSeconds: number | null, canRefresh: boolean, now: Date): Lifetime {
  if (expiresInSeconds === null) return { expiresAt: null, staleAt: null, refreshAt: null };
  const lifeMs = expiresInSeconds * 1000;
  const at = (ms: number) => new Date(now.getTime() + ms);
  const margin = (wanted: number) => Math.min(wanted, lifeMs * (1 - usablePart));
  return {
    expiresAt: at(lifeMs),
    staleAt: at(lifeMs - margin(readerSkewMs)),
    refreshAt: canRefresh ? at(lifeMs - margin(aheadMs)) : null,
  };
}

export function isStale(token: Pick<Token, "stale_at">, now: Date): boolean {
  return token.stale_at !== null && token.stale_at <= now;
}

export function isExpired(token: Pick<Token, "expires_at">, now: Date): boolean {
  return token.expires_at !== null && token.expires_at <= now;
}

export function coversScopes(held: readonly string[], wanted: readonly string[]): boolean {
  return wanted.every((scope) => held.includes(scope));
}

/** Doubles from half a minute to an hour. */
export function retryDelayMs(failures: number): number {
  return Math.min(60 * 60_000, 30_000 * 2 ** Math.min(failures, 20));
}

export function tokenNotFound(id: string): AppError {
  return new AppError({
    code: "token.not_found",
    kind: "not_found",
    message: `OAuth token ${id} not found.`,
  });
}

export function notTheOwner(): AppError {
  return new AppError({
    code: "token.not_owner",
    kind: "forbidden",
    message: "Only the owner of an OAuth token may do this. Use a credential of the user who connected it.",
  });
}

export function tokenBusy(id: string): AppError {
  return new AppError({
    code: "token.busy",
    kind: "unavailable",
    message: `OAuth token ${id} is being refreshed by another request that does not finish. Try again.`,
  });
}
