import type { Clock } from "../../platform/clock.ts";
import type { Database } from "../../platform/db/database.ts";
import type { SecretBox } from "../../platform/encryption/secret-box.ts";
import { AppError } from "../../platform/errors.ts";
import type { Caller } from "../../platform/http/access/caller.ts";
import type { JobContext } from "../../platform/jobs/job-worker.ts";
import type { Provider } from "../providers/provider.ts";
import type { ProviderService } from "../providers/provider-service.ts";
import { deleteProviderRow } from "../providers/provider-store.ts";
import { accessTokenContext, refreshTokenContext } from "../sealed-columns.ts";
import type { PendingRevocations } from "./pending-revocation-service.ts";
import { type Token, tokenNotFound } from "./token.ts";
import type { EventInput, TokenEventService } from "./token-event-service.ts";
import type { TokenLeases } from "./token-lease-service.ts";
import { announceToken, deleteToken, releaseToken } from "./token-lease-store.ts";
import type { TokenRevocation } from "./token-revocation-service.ts";
import type { TokenService } from "./token-service.ts";
import * as store from "./token-store.ts";

export type TokenRemoval = {
  /** Revokes at the provider first; when that fails the token stays. Forced: gone at once, revoked at the provider later. */
  remove(caller: Caller, id: string, force: boolean): Promise<void>;
  /** All the caller's tokens of a provider; stops at the first the provider refuses to revoke. */
  removeAll(caller: Caller, providerId: string, force: boolean): Promise<number>;
  /** Of everybody in the workspace. */
  removeOfType(caller: Caller, providerType: string): Promise<number>;
  hasOfType(caller: Caller, providerType: string): Promise<boolean>;
  /** Whoever's it is; one that is gone already is fine. */
  removeStored(id: string, request: { force: boolean; source: string }): Promise<void>;
  /** The job behind a deleted provider. */
  removeProvider(context: JobContext): Promise<void>;
};

export function createTokenRemoval(options: {
  database: Database;
  clock: Clock;
  secretBox: SecretBox;
  providers: ProviderService;
  tokens: TokenService;
  events: TokenEventService;
  leases: TokenLeases;
  revocation: TokenRevocation;
  pending: PendingRevocations;
}): TokenRemoval {
  const { database, secretBox, providers, tokens, events, leases, revocation, pending } = options;

  /** Holding the lease, so that no refresh makes a token that is never revoked. */
  async function removeToken(known: Token, request: { force: boolean; source: string }): Promise<void> {
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
      const event = await revokeAtProvider(provider, token, request);
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

  /** Waits for nobody: neither for the provider nor for a refresh that hangs there. */
  async function removeAtOnce({ id }: Token): Promise<void> {
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

  async function removeOwn(token: Token, force: boolean): Promise<void> {
    if (force) await removeAtOnce(token);
    else await removeToken(token, { force, source: "owner" });
  }

  async function removeStored(id: string, request: { force: boolean; source: string }): Promise<void> {
    const token = await store.findTokenById(database, id);
    if (!token) return;
    try {
      await removeToken(token, request);
    } catch (error) {
      if (!(error instanceof AppError) || error.kind !== "not_found") throw error;
    }
  }

  async function revokeAtProvider(
    provider: Provider,
    token: Token,
    { force, source }: { force: boolean; source: string },
  ): Promise<EventInput> {
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
        detail: `The provider did not revoke the token, and it was deleted all the same. ${error.message}`,
      };
    }
  }

  return {
    async remove(caller, id, force) {
      await removeOwn(await tokens.own(caller, id), force);
    },

    async removeAll(caller, providerId, force) {
      const own = await tokens.list(caller, providerId);
      for (const token of own) await removeOwn(token, force);
      return own.length;
    },

    async removeOfType(caller, providerType) {
      const all = await store.listTypeTokens(database.sql, caller.workspaceId, providerType);
      for (const token of all) await removeToken(token, { force: false, source: "administrator" });
      return all.length;
    },
    async hasOfType(caller, providerType) {
      const all = await store.listTypeTokens(database.sql, caller.workspaceId, providerType);
      return all.some((token) => token.status === "active");
    },

    removeStored,
    async removeProvider({ job, signal }) {
      const { provider } = job.payload as { provider: string };
      for (const id of await store.listProviderTokenIds(database.sql, provider)) {
        signal.throwIfAborted();
        await removeStored(id, { force: true, source: "provider deleted" });
      }
      await pending.finishProvider(provider);
      await deleteProviderRow(database.sql, provider);
    },
  };
}

function notRevoked(cause: AppError): AppError {
  return new AppError({
    code: "token.not_revoked",
    kind: "bad_gateway",
    message: `The provider did not revoke the token, so it was kept. ${cause.message} Try again, or add ?force=true to delete it here all the same.`,
  });
}

function changedMeanwhile(id: string): AppError {
  return new AppError({
    code: "token.changed",
    kind: "conflict",
    message: `OAuth token ${id} was connected again while it was being deleted. Delete it again if it is to go.`,
  });
}
