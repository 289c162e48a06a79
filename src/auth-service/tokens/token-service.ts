import type { Clock } from "../../platform/clock.ts";
import type { Database, Sql } from "../../platform/db/database.ts";
import type { SecretBox } from "../../platform/encryption/secret-box.ts";
import { AppError } from "../../platform/errors.ts";
import type { Caller } from "../../platform/http/access/caller.ts";
import { newId } from "../../platform/ids.ts";
import type { Provider } from "../providers/provider.ts";
import type { ProviderService } from "../providers/provider-service.ts";
import { lifeSecondsOf, revocationEndsGrant } from "../providers/provider-templates.ts";
import type { GrantedToken } from "../providers/token-response.ts";
import type { PendingRevocations } from "./pending-revocation-service.ts";
import { accessTokenContext, refreshTokenContext } from "./sealed-columns.ts";
import { lifetimeOf, notTheOwner, type Token, type TokenIdentity, tokenNotFound } from "./token.ts";
import type { TokenEventService } from "./token-event-service.ts";
import * as store from "./token-store.ts";

export type GrantInput = {
  identity: TokenIdentity;
  provider: Provider;
  granted: GrantedToken;
  /** Those asked for: what a provider that does not name the granted ones gave. */
  scopes: string[];
  isDefault: boolean;
  /** The token a new consent renews, unless it turns out to be for another account. */
  renewsTokenId: string | null;
  metadata: Record<string, unknown> | null;
  source: "consent" | "import";
};

export type TokenImport = {
  provider_id: string;
  access_token: string;
  refresh_token?: string | null | undefined;
  expires_in_seconds?: number | null | undefined;
  scopes: string[];
  metadata?: Record<string, unknown> | null | undefined;
  is_default: boolean;
};

type TokenServiceOptions = {
  database: Database;
  clock: Clock;
  secretBox: SecretBox;
  providers: ProviderService;
  events: TokenEventService;
  pending: Pick<PendingRevocations, "leave">;
};

/** The tokens people own: listed, named, imported, stored after a consent. */
export class TokenService {
  readonly #options: TokenServiceOptions;

  constructor(options: TokenServiceOptions) {
    this.#options = options;
  }

  list(caller: Caller, providerId?: string): Promise<Token[]> {
    return store.listOwnTokens(this.#options.database.sql, {
      workspaceId: caller.workspaceId,
      ownerId: caller.userId,
      providerId,
    });
  }

  connected(caller: Caller, providerIds: string[]): Promise<Set<string>> {
    return store.findConnectedProviders(this.#options.database.sql, {
      workspaceId: caller.workspaceId,
      ownerId: caller.userId,
      providerIds,
    });
  }

  /** The caller's own, or 404, or 403 when it belongs to another user. */
  async own(caller: Caller, id: string): Promise<Token> {
    const token = await store.findToken(this.#options.database.sql, caller.workspaceId, id);
    if (!token) throw tokenNotFound(id);
    if (token.owner_id !== caller.userId) throw notTheOwner();
    return token;
  }

  async changeMetadata(
    caller: Caller,
    id: string,
    change: { label?: string | null | undefined; isDefault?: boolean | undefined },
  ): Promise<Token> {
    const { database, clock } = this.#options;
    const token = await this.own(caller, id);
    const identity = store.identityOf(token);
    await database.transaction(async (tx) => {
      await store.lockIdentity(tx, identity);
      if (change.isDefault === true) await store.clearDefault(tx, identity);
      await store.updateTokenMetadata(tx, id, change, clock.now());
    });
    return this.own(caller, id);
  }

  async import(caller: Caller, request: TokenImport, agentId = ""): Promise<string> {
    const { providers, database } = this.#options;
    const provider = await providers.resolve(caller.workspaceId, request.provider_id);
    const identity: TokenIdentity = {
      workspaceId: caller.workspaceId,
      provider: provider.id,
      ownerId: caller.userId,
      subject: "",
      agentId,
    };
    return database.transaction((tx) =>
      this.store(tx, {
        identity,
        provider,
        granted: importedGrant(request),
        scopes: request.scopes,
        isDefault: request.is_default,
        renewsTokenId: null,
        metadata: request.metadata ?? null,
        source: "import",
      }),
    );
  }

  /** In the caller's transaction. Returns the id of the token that holds the grant now. */
  async store(tx: Sql, input: GrantInput): Promise<string> {
    const { clock, secretBox, pending, events } = this.#options;
    const now = clock.now();
    const { identity, granted, provider } = input;
    await store.lockIdentity(tx, identity);
    const present = await store.listIdentityTokens(tx, identity);
    const renewed = chooseRenewed(present, granted, input.renewsTokenId);
    const id = renewed?.id ?? newId();
    const isDefault = input.isDefault || renewed?.is_default === true || present.length === 0;
    const { refreshToken } = granted;
    const token: store.NewToken = {
      id,
      identity,
      accessTokenSealed: secretBox.seal(granted.accessToken, accessTokenContext(id)),
      refreshTokenSealed:
        refreshToken === null ? null : secretBox.seal(refreshToken, refreshTokenContext(id)),
      scopes: granted.scopes ?? input.scopes,
      lifetime: lifetimeOf(lifeSecondsOf(provider, granted), refreshToken !== null, now),
      accountKey: granted.accountKey,
      accountLabel: granted.accountLabel,
      metadata: input.metadata,
      isDefault,
    };
    if (renewed && this.#isLeftBehind(renewed, granted, provider)) {
      // Not its refresh token, which never left this server: at many servers revoking it would end the new consent too.
      await pending.leave(tx, { ...renewed, refresh_token_sealed: null }, "new consent");
    }
    if (isDefault) await store.clearDefault(tx, identity);
    if (renewed) await store.renewToken(tx, token, now);
    else await store.insertToken(tx, token, now);
    const stored = await store.findToken(tx, identity.workspaceId, id);
    if (!stored) throw new Error("a token vanished in the transaction that stored it");
    await events.record(tx, stored, {
      type: input.source === "import" ? "imported" : renewed ? "reconnected" : "connected",
      source: input.source,
    });
    return id;
  }

  /** Whether the access token of the earlier consent stays valid at the provider beside the new one. */
  #isLeftBehind(earlier: Token, granted: GrantedToken, provider: Provider): boolean {
    if (earlier.status === "dead" || revocationEndsGrant(provider)) return false;
    const access = this.#options.secretBox.open(earlier.access_token_sealed, accessTokenContext(earlier.id));
    return access !== granted.accessToken;
  }
}

/** The same account is the same token; otherwise the one the consent was asked for, if it may be that account. */
function chooseRenewed(
  present: readonly Token[],
  granted: GrantedToken,
  renewsTokenId: string | null,
): Token | undefined {
  const { accountKey } = granted;
  const sameAccount =
    accountKey === null ? undefined : present.find((token) => token.account_key === accountKey);
  if (sameAccount) return sameAccount;
  const named = present.find((token) => token.id === renewsTokenId);
  const isOther = accountKey !== null && named?.account_key != null && named.account_key !== accountKey;
  return isOther ? undefined : named;
}

function importedGrant(request: TokenImport): GrantedToken {
  if (request.access_token.trim() === "") {
    throw new AppError({ code: "token.empty", kind: "invalid", message: "The access token is empty." });
  }
  return {
    accessToken: request.access_token,
    refreshToken: request.refresh_token ?? null,
    expiresInSeconds: request.expires_in_seconds ?? null,
    scopes: request.scopes,
    accountKey: null,
    accountLabel: null,
    metadata: {},
  };
}
