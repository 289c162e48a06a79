import type { Clock } from "../../platform/clock.ts";
import type { Database } from "../../platform/db/database.ts";
import type { SecretBox } from "../../platform/encryption/secret-box.ts";
import { AppError } from "../../platform/errors.ts";
import type { Caller } from "../../platform/http/access/caller.ts";
import type { JobContext } from "../../platform/jobs/job-worker.ts";
import type { Provider } from "../providers/provider.ts";
import type { ProviderService } from "../providers/provider-service.ts";
import { deleteProviderRow } from "../providers/provider-store.ts";
import type { PendingRevocations } from "./pending-revocation-service.ts";
import { accessTokenContext, refreshTokenContext } from "./sealed-columns.ts";
import { type Token, tokenNotFound } from "./token.ts";
import type { EventInput, TokenEventService } from "./token-event-service.ts";
import type { TokenLeases } from "./token-lease-service.ts";
import { announceToken, deleteToken, releaseToken } from "./token-lease-store.ts";
import type { TokenRevocation } from "./token-revocation-service.ts";
import type { TokenService } from "./token-service.ts";
import * as store from "./token-store.ts";

type TokenRemovalOptions = {
  database: Database;
  clock: Clock;
  secretBox: SecretBox;
  providers: ProviderService;
  tokens: TokenService;
  events: TokenEventService;
  leases: TokenLeases;
  revocation: TokenRevocation;
  pending: PendingRevocations;
};

/** Takes tokens away: at the provider first, then here. */
export class TokenRemoval {
  readonly #options: TokenRemovalOptions;

  constructor(options: TokenRemovalOptions) {
    this.#options = options;
  }

  /** Revokes at the provider first; when that fails the token stays. Forced: gone at once, revoked at the provider later. */
  async remove(caller: Caller, id: string, force: boolean): Promise<void> {
    await this.#removeOwn(await this.#options.tokens.own(caller, id), force);
  }

  /** All the caller's tokens of a provider; stops at the first the provider refuses to revoke. */
  async removeAll(caller: Caller, providerId: string, force: boolean): Promise<number> {
    const own = await this.#options.tokens.list(caller, providerId);
    for (const token of own) await this.#removeOwn(token, force);
    return own.length;
  }

  /** Of everybody in the workspace. */
  async removeOfType(caller: Caller, providerType: string): Promise<number> {
    const all = await store.listTypeTokens(this.#options.database.sql, caller.workspaceId, providerType);
    for (const token of all) await this.#removeToken(token, { force: false, source: "administrator" });
    return all.length;
  }

  async hasOfType(caller: Caller, providerType: string): Promise<boolean> {
    const all = await store.listTypeTokens(this.#options.database.sql, caller.workspaceId, providerType);
    return all.some((token) => token.status === "active");
  }

  /** For a token of any owner; does nothing if it is gone already. */
  async removeStored(id: string, request: { force: boolean; source: string }): Promise<void> {
    const token = await store.findTokenById(this.#options.database, id);
    if (!token) return;
    try {
      await this.#removeToken(token, request);
    } catch (error) {
      if (!(error instanceof AppError) || error.kind !== "not_found") throw error;
    }
  }

  /** The job behind a deleted provider. */
  async removeProvider({ job, signal }: JobContext): Promise<void> {
    const { database, pending } = this.#options;
    const { provider } = job.payload as { provider: string };
    for (const id of await store.listProviderTokenIds(database.sql, provider)) {
      signal.throwIfAborted();
      await this.removeStored(id, { force: true, source: "provider deleted" });
    }
    await pending.finishProvider(provider);
    await deleteProviderRow(database.sql, provider);
  }

  /** Holding the lease, so that no refresh makes a token that is never revoked. */
  async #removeToken(known: Token, request: { force: boolean; source: string }): Promise<void> {
    const { providers, leases, database, events } = this.#options;
    const { id } = known;
    // Before the lease begins to run: it is long enough for the revocation, not for a search too.
    const stored = await providers.find(known.provider);
    if (!stored) throw tokenNotFound(id);
    const provider = await providers.findRevocation(stored);
    const lease = await leases.claim(id);
    if (lease === null) throw tokenNotFound(id);
    try {
      const token = await store.findTokenById(database, id);
      if (!token) throw tokenNotFound(id);
      const event = await this.#revokeAtProvider(provider, token, request);
      await database.transaction(async (tx) => {
        if (!(await deleteToken(tx, id, lease))) throw changedMeanwhile(id);
        if (token.is_default) await store.promoteDefault(tx, store.identityOf(token));
        await events.record(tx, token, event);
        await announceToken(tx, id);
      });
    } catch (error) {
      await releaseToken(database.sql, id, lease);
      await announceToken(database.sql, id);
      throw error;
    }
  }

  /** Waits neither for the provider nor for a refresh that hangs there. */
  async #removeAtOnce({ id }: Token): Promise<void> {
    const { database, pending, events } = this.#options;
    await database.transaction(async (tx) => {
      const token = await store.takeToken(tx, id);
      if (!token) throw tokenNotFound(id);
      await pending.leave(tx, token, "owner");
      if (token.is_default) await store.promoteDefault(tx, store.identityOf(token));
      await events.record(tx, token, {
        type: "deleted_locally",
        source: "owner",
        reason: "forced",
        detail: "The token was deleted here at once. It is revoked at the provider in the background.",
      });
      await announceToken(tx, id);
    });
  }

  async #removeOwn(token: Token, force: boolean): Promise<void> {
    if (force) await this.#removeAtOnce(token);
    else await this.#removeToken(token, { force, source: "owner" });
  }

  async #revokeAtProvider(
    provider: Provider,
    token: Token,
    { force, source }: { force: boolean; source: string },
  ): Promise<EventInput> {
    const { revocation, providers, secretBox } = this.#options;
    const { id, refresh_token_sealed } = token;
    try {
      const outcome = await revocation.revoke({
        provider,
        clientSecret: providers.secretOf(provider),
        accessToken: secretBox.open(token.access_token_sealed, accessTokenContext(id)),
        refreshToken:
          refresh_token_sealed === null
            ? null
            : secretBox.open(refresh_token_sealed, refreshTokenContext(id)),
      });
      if (outcome === "revoked") return { type: "revoked", source };
      return {
        type: "deleted_locally",
        source,
        reason: "no_revocation_endpoint",
        detail: "The provider offers no revocation endpoint: the token was deleted here only.",
      };
    } catch (error) {
      if (!(error instanceof AppError)) throw error;
      if (!force) throw notRevoked(error);
      return {
        type: "deleted_locally",
        source,
        reason: "revocation_failed",
        detail: `The provider did not revoke the token, but it was deleted here. ${error.message}`,
      };
    }
  }
}

function notRevoked(cause: AppError): AppError {
  return new AppError({
    code: "token.not_revoked",
    kind: "bad_gateway",
    message: `The provider did not revoke the token, so it was kept. ${cause.message} Try again, or add ?force=true to delete it here anyway.`,
  });
}

function changedMeanwhile(id: string): AppError {
  return new AppError({
    code: "token.changed",
    kind: "conflict",
    message: `OAuth token ${id} was connected again while it was being deleted. To delete it, try again.`,
  });
}
