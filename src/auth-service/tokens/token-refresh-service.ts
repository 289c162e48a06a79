import type { Clock } from "../../platform/clock.ts";
import type { Database } from "../../platform/db/database.ts";
import type { SecretBox } from "../../platform/encryption/secret-box.ts";
import { AppError } from "../../platform/errors.ts";
import type { Logger } from "../../platform/logger.ts";
import type { OAuthClient } from "../providers/oauth-client.ts";
import { OAuthFailure } from "../providers/oauth-failure.ts";
import type { Provider } from "../providers/provider.ts";
import type { ProviderService } from "../providers/provider-service.ts";
import { lifeSecondsOf } from "../providers/provider-templates.ts";
import type { GrantedToken } from "../providers/token-response.ts";
import { accessTokenContext, refreshTokenContext } from "./sealed-columns.ts";
import { isExpired, isStale, lifetimeOf, retryDelayMs, type Token, tokenNotFound } from "./token.ts";
import type { TokenEventService } from "./token-event-service.ts";
import type { TokenLeases } from "./token-lease-service.ts";
import * as leaseStore from "./token-lease-store.ts";
import { findTokenById } from "./token-store.ts";

/** What a caller gets to see: never the refresh token. */
export type UsableToken = { token: Token; accessToken: string };

type TokenRefreshOptions = {
  database: Database;
  clock: Clock;
  logger: Logger;
  secretBox: SecretBox;
  client: OAuthClient;
  providers: ProviderService;
  events: TokenEventService;
  leases: TokenLeases;
};

/** Keeps tokens fresh: one exchange with the provider at a time, however many callers there are. */
export class TokenRefresh {
  readonly #options: TokenRefreshOptions;
  /** Callers in this process share one refresh, and one wait. */
  readonly #running = new Map<string, Promise<Token>>();

  constructor(options: TokenRefreshOptions) {
    this.#options = options;
  }

  /** The access token, refreshed first when it is about to end; null when it cannot be had any more. */
  async usable(token: Token, source: string): Promise<UsableToken | null> {
    const now = this.#options.clock.now();
    if (token.status === "dead") return null;
    if (!isStale(token, now)) return this.#open(token);
    if (token.refresh_token_sealed === null) return isExpired(token, now) ? null : this.#open(token);
    const current = await this.#renewed(token, source);
    return current.status === "dead" ? null : this.#open(current);
  }

  /** Refreshes a token that is due, unless another process does. False: the provider did not do it. */
  async refreshDue(id: string): Promise<boolean> {
    const { database, clock } = this.#options;
    const token = await findTokenById(database, id);
    if (token?.status !== "active" || token.refresh_token_sealed === null) return true;
    // Another process may have been faster since the list was made.
    if (token.refresh_at === null || token.refresh_at > clock.now()) return true;
    const current = await this.#renewed(token, "background refresh");
    return current.version !== token.version;
  }

  #open(token: Token): UsableToken {
    return {
      token,
      accessToken: this.#options.secretBox.open(token.access_token_sealed, accessTokenContext(token.id)),
    };
  }

  #renewed(token: Token, source: string): Promise<Token> {
    const known = this.#running.get(token.id);
    if (known) return known;
    const work = this.#renew(token, source).finally(() => this.#running.delete(token.id));
    this.#running.set(token.id, work);
    return work;
  }

  async #renew(token: Token, source: string): Promise<Token> {
    const { leases, database, clock } = this.#options;
    const lease = await leases.claimSeen(token.id, token);
    // Null: another process has just done it or tried to, or the token is gone.
    if (lease !== null) await this.#refreshHeld(token, lease, source);
    const now = await findTokenById(database, token.id);
    if (!now) throw tokenNotFound(token.id);
    if (now.status === "active" && isExpired(now, clock.now())) throw notRefreshed(now);
    return now;
  }

  async #refreshHeld(token: Token, lease: string, source: string): Promise<void> {
    const { providers, secretBox, client } = this.#options;
    const provider = await providers.find(token.provider);
    if (!provider) throw tokenNotFound(token.id);
    let granted: GrantedToken;
    try {
      const refreshToken = secretBox.open(token.refresh_token_sealed!, refreshTokenContext(token.id));
      granted = await client.refresh(provider, providers.secretOf(provider), refreshToken);
    } catch (error) {
      await this.#settleFailure(token, lease, source, error);
      return;
    }
    await this.#saveGrant(provider, token, lease, granted);
  }

  async #saveGrant(provider: Provider, token: Token, lease: string, granted: GrantedToken): Promise<void> {
    const { clock, database, secretBox, logger } = this.#options;
    const now = clock.now();
    const { refreshToken } = granted;
    // Without `expires_in` for a token whose life was known before: the same life again.
    const seconds = lifeSecondsOf(provider, granted) ?? previousLifeSeconds(token);
    await database.transaction(async (tx) => {
      const saved = await leaseStore.saveRefreshed(
        tx,
        token.id,
        lease,
        {
          accessTokenSealed: secretBox.seal(granted.accessToken, accessTokenContext(token.id)),
          refreshTokenSealed:
            refreshToken === null ? null : secretBox.seal(refreshToken, refreshTokenContext(token.id)),
          scopes: granted.scopes,
          lifetime: lifetimeOf(seconds, true, now),
        },
        now,
      );
      if (!saved) logger.warn({ token_id: token.id }, "a refreshed OAuth token was replaced meanwhile");
      await leaseStore.announceToken(tx, token.id);
    });
  }

  /** A dead grant is written down as such; anything else is tried again later. */
  async #settleFailure(token: Token, lease: string, source: string, error: unknown): Promise<void> {
    const { clock, database, events, logger } = this.#options;
    const now = clock.now();
    const isDead = error instanceof OAuthFailure && error.failure === "grant";
    await database.transaction(async (tx) => {
      if (isDead) {
        if (!(await leaseStore.saveDead(tx, token.id, lease, now))) return;
        await events.record(tx, token, {
          type: "disconnected",
          source,
          reason: error.providerError ?? "invalid_grant",
          detail: "The provider no longer accepts the refresh token. Connect the account again.",
        });
      } else {
        const retryAt = new Date(now.getTime() + retryDelayMs(token.refresh_failures));
        const failures = await leaseStore.saveRefreshFailure(tx, token.id, lease, retryAt);
        // The first of a row is news, the others are not.
        if (failures === 1) {
          await events.record(tx, token, {
            type: "refresh_failed",
            source,
            reason: error instanceof AppError ? error.code : "internal",
            detail: error instanceof AppError ? error.message : "The refresh failed unexpectedly.",
          });
        }
      }
      await leaseStore.announceToken(tx, token.id);
    });
    if (isDead) return;
    if (isExpired(token, now) || !(error instanceof AppError)) throw error;
    logger.warn(
      { token_id: token.id, provider_id: token.provider_id, code: error.code },
      "an OAuth token could not be refreshed; the old one is still valid",
    );
  }
}

function notRefreshed(token: Token): AppError {
  return new AppError({
    code: "token.not_refreshed",
    kind: "bad_gateway",
    message: `The OAuth token of ${token.provider_id} has expired and could not be refreshed just now. Try again in a moment.`,
    retryable: true,
  });
}

function previousLifeSeconds(token: Token): number | null {
  if (token.expires_at === null) return null;
  return Math.max(60, (token.expires_at.getTime() - token.updated_at.getTime()) / 1000);
}
