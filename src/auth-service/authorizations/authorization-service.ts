import * as oauth from "oauth4webapi";
import type { Clock } from "../../platform/clock.ts";
import type { Database } from "../../platform/db/database.ts";
import type { SecretBox } from "../../platform/encryption/secret-box.ts";
import { invalidField } from "../../platform/errors.ts";
import type { Caller } from "../../platform/http/access/caller.ts";
import { newId, newSecret } from "../../platform/ids.ts";
import { defaultRedirectUri, mayRedirectTo, type Provider } from "../providers/provider.ts";
import type { ProviderService } from "../providers/provider-service.ts";
import { scopesToRequest } from "../providers/provider-templates.ts";
import { coversScopes, notTheOwner, type Token, type TokenIdentity, tokenNotFound } from "../tokens/token.ts";
import type { TokenRefresh } from "../tokens/token-refresh-service.ts";
import { findCandidates, findToken, identityOf } from "../tokens/token-store.ts";
import { authorizationLifeMs, formatState, hashState } from "./authorization.ts";
import { findSameAuthorization, insertAuthorization, type NewAuthorization } from "./authorization-store.ts";
import { authorizationUrl } from "./authorization-url.ts";
import { consentPageUrl } from "./consent-page.ts";
import { codeVerifierContext, consentUrlContext } from "./sealed-columns.ts";

export type AuthenticateRequest = {
  provider: string;
  scopes: string[];
  user_id?: string | null | undefined;
  ls_user_id?: string | null | undefined;
  agent_id?: string | null | undefined;
  force_new: boolean;
  token_id?: string | null | undefined;
  redirect_uri?: string | null | undefined;
  is_default: boolean;
  check_only: boolean;
  /** Return a pending consent again instead of a new one: a graph asks each time it is resumed. */
  reuse_pending?: boolean;
};

/** All that counts of a caller here. */
export type TokenUser = Pick<Caller, "workspaceId" | "userId">;

export type AuthenticateOutcome =
  | { status: "completed"; token: string; details: Token }
  | { status: "pending" | "token_expired"; url: string; authId: string }
  | { status: "connection_required" | "token_expired" };

type AuthorizationServiceOptions = {
  database: Database;
  clock: Clock;
  secretBox: SecretBox;
  providers: ProviderService;
  refresh: TokenRefresh;
  publicUrl(): string;
  platformOrganization: string | undefined;
};

/** Answers who asks for a token: with one that is there, or with the start of a consent. */
export class AuthorizationService {
  readonly #options: AuthorizationServiceOptions;

  constructor(options: AuthorizationServiceOptions) {
    this.#options = options;
  }

  /** A token that is there and covers the scopes, or the address of a consent. */
  async authenticate(caller: TokenUser, request: AuthenticateRequest): Promise<AuthenticateOutcome> {
    const { refresh, providers } = this.#options;
    const who = { subject: subjectOf(caller, request), agentId: request.agent_id ?? "" };
    const token = request.force_new ? undefined : await this.#chooseToken(caller, request, who);
    const isCovered = token !== undefined && coversScopes(token.scopes, request.scopes);
    const usable = isCovered ? await refresh.usable(token, "reader") : null;
    if (usable) return { status: "completed", token: usable.accessToken, details: usable.token };
    const provider = await providers.resolve(caller.workspaceId, request.provider);
    const isUnlinked = request.token_id && !token && !request.force_new;
    if (request.check_only || isUnlinked) {
      return { status: isCovered ? "token_expired" : "connection_required" };
    }
    const consent = await this.#startConsent(caller, request, {
      provider,
      identity: { ...who, workspaceId: caller.workspaceId, provider: provider.id, ownerId: caller.userId },
      renews: token,
    });
    return { status: isCovered && request.token_id ? "token_expired" : "pending", ...consent };
  }

  /** The token the request names or would use; undefined when there is none. */
  async #chooseToken(
    caller: TokenUser,
    request: AuthenticateRequest,
    who: { subject: string; agentId: string },
  ): Promise<Token | undefined> {
    const { database, platformOrganization } = this.#options;
    const candidates = await findCandidates(database, {
      ...who,
      workspaceId: caller.workspaceId,
      providerId: request.provider,
      platformOrganization,
      ownerId: caller.userId,
    });
    if (!request.token_id) return candidates[0];
    const named = candidates.find((token) => token.id === request.token_id);
    if (named) return named;
    const token = await findToken(database.sql, caller.workspaceId, request.token_id);
    if (token?.provider_id !== request.provider) throw tokenNotFound(request.token_id);
    if (token.owner_id === caller.userId) return token;
    // Another user's token: only an agent it is linked to may use it.
    if (who.agentId !== "") return undefined;
    throw notTheOwner();
  }

  async #startConsent(
    caller: TokenUser,
    request: AuthenticateRequest,
    consent: { provider: Provider; identity: TokenIdentity; renews: Token | undefined },
  ): Promise<{ url: string; authId: string }> {
    const { publicUrl, clock, secretBox, database } = this.#options;
    const { provider, renews } = consent;
    const redirectUri = request.redirect_uri ?? defaultRedirectUri(publicUrl(), provider.provider_id);
    if (!mayRedirectTo(provider, publicUrl(), redirectUri)) {
      throw invalidField(
        ["body", "redirect_uri"],
        "must be one of the provider's allowed_redirect_uris, character by character",
        redirectUri,
      );
    }
    const isOwn = renews?.owner_id === caller.userId;
    // A request that names a token renews that very token, for any subject it was granted for.
    const identity = request.token_id && renews && isOwn ? identityOf(renews) : consent.identity;
    const authId = newId();
    const secret = newSecret();
    const codeVerifier = provider.uses_pkce ? oauth.generateRandomCodeVerifier() : null;
    const now = clock.now();
    // Together with what it had: two agents that want different scopes must not take them from each other.
    const wanted = [...new Set([...request.scopes, ...(isOwn ? renews.scopes : [])])];
    const scopes = scopesToRequest(provider, wanted);
    const state = formatState(authId, secret);
    const codeChallenge = codeVerifier && (await oauth.calculatePKCECodeChallenge(codeVerifier));
    const url = authorizationUrl(provider, { state, redirectUri, scopes, codeChallenge });
    const authorization: NewAuthorization = {
      id: authId,
      workspace_id: caller.workspaceId,
      provider: provider.id,
      initiator_id: caller.userId,
      subject_kind: isForAgent(request) ? "agent" : "user",
      subject: identity.subject,
      agent_id: identity.agentId,
      state_hash: hashState(secret),
      code_verifier_sealed:
        codeVerifier === null ? null : secretBox.seal(codeVerifier, codeVerifierContext(authId)),
      url_sealed: secretBox.seal(url, consentUrlContext(authId)),
      redirect_uri: redirectUri,
      scopes,
      is_default: request.is_default,
      renews_token_id: isOwn ? renews.id : null,
      created_at: now,
      expires_at: new Date(now.getTime() + authorizationLifeMs),
    };
    const pending = request.reuse_pending ? await this.#findPending(authorization) : undefined;
    if (!pending) await insertAuthorization(database.sql, authorization);
    const kept = pending ?? { url, authId };
    return isForGraph(request) ? { ...kept, url: consentPageUrl(publicUrl(), kept.authId) } : kept;
  }

  async #findPending(wanted: NewAuthorization): Promise<{ url: string; authId: string } | undefined> {
    const { database, secretBox } = this.#options;
    const openUntil = new Date(wanted.created_at.getTime() + authorizationLifeMs / 2);
    const same = await findSameAuthorization(database.sql, wanted, openUntil);
    return same && { url: secretBox.open(same.url_sealed!, consentUrlContext(same.id)), authId: same.id };
  }
}

/** Without a named user, the subject is the owner. */
function subjectOf(caller: TokenUser, request: AuthenticateRequest): string {
  const named = request.user_id ?? request.ls_user_id ?? "";
  return named === caller.userId ? "" : named;
}

/**
 * A graph puts the address into an interrupt, and so into the state of a thread, which others may read. With `state`
 * in it they could finish the consent with an account of theirs and have the person follow that link. So it is the
 * address of a page that shows the provider's address to that person only. A client that takes the provider's answer
 * itself has no page of ours.
 */
function isForGraph(request: AuthenticateRequest): boolean {
  return Boolean(request.agent_id || request.reuse_pending) && !request.redirect_uri;
}

function isForAgent(request: AuthenticateRequest): boolean {
  return Boolean(request.agent_id) && !request.user_id && !request.ls_user_id;
}
