import type { Clock } from "../../platform/clock.ts";
import type { Database } from "../../platform/db/database.ts";
import type { SecretBox } from "../../platform/encryption/secret-box.ts";
import { AppError } from "../../platform/errors.ts";
import type { Caller } from "../../platform/http/access/caller.ts";
import { isUuid } from "../../platform/ids.ts";
import { enqueue } from "../../platform/jobs/job-queue.ts";
import type { JobContext } from "../../platform/jobs/job-worker.ts";
import { KeyedNotifications } from "../../platform/work/keyed-notifications.ts";
import type { OAuthClient } from "../providers/oauth-client.ts";
import { OAuthFailure } from "../providers/oauth-failure.ts";
import type { ProviderService } from "../providers/provider-service.ts";
import { knownRevocation } from "../providers/provider-templates.ts";
import type { GrantedToken } from "../providers/token-response.ts";
import type { ConnectionService } from "../tokens/connection-service.ts";
import type { TokenRefresh } from "../tokens/token-refresh-service.ts";
import type { TokenService } from "../tokens/token-service.ts";
import { findToken } from "../tokens/token-store.ts";
import {
  type Authorization,
  consentFailed,
  consentNotFound,
  declined,
  failureOf,
  isDenied,
  isStateOf,
  notTheInitiator,
  parseState,
  stateRefused,
} from "./authorization.ts";
import type { TokenUser } from "./authorization-service.ts";
import * as store from "./authorization-store.ts";
import { codeVerifierContext, consentUrlContext } from "./sealed-columns.ts";

export const findRevocationJobKind = "auth.find_revocation";
const keepMs = 24 * 60 * 60_000;
/** Should a notification get lost. */
const lookAgainMs = 2_000;

export type CallbackAnswer = {
  state: string;
  code?: string | undefined;
  iss?: string | undefined;
  error?: string | undefined;
};

export type WaitOutcome =
  | { status: "completed"; token: string; expiresAt: Date | null }
  | { status: "pending" | "timeout" }
  | { status: "not_found" | "denied" | "failed"; detail: string };

/** How a consent stands, for pages: they need no token, so they get none. */
export type ConsentView = {
  authorization: Authorization;
  /** Where the person gives it; null once it came to an end. */
  url: string | null;
  status: "pending" | "completed" | "failed" | "expired";
};

export type OpenConsent = { authorization: Authorization; url: string };

type ConsentServiceOptions = {
  database: Database;
  clock: Clock;
  secretBox: SecretBox;
  client: OAuthClient;
  providers: ProviderService;
  tokens: TokenService;
  refresh: TokenRefresh;
  connections: ConnectionService;
};

/** A consent from the address that was handed out to its end: given, refused, failed or too late. */
export class ConsentService {
  readonly #options: ConsentServiceOptions;
  readonly #notifications: KeyedNotifications;

  constructor(options: ConsentServiceOptions) {
    this.#options = options;
    this.#notifications = new KeyedNotifications(options.database, store.authorizationChannel);
  }

  start(): Promise<void> {
    return this.#notifications.start();
  }

  stop(): Promise<void> {
    return this.#notifications.stop();
  }

  /** Turns the provider's answer into a token, once, for the user who asked for it. */
  async finish(caller: Caller, providerId: string, answer: CallbackAnswer): Promise<{ tokenId: string }> {
    const authorization = await this.#claim(caller, providerId, answer.state);
    try {
      if (answer.error !== undefined) throw consentFailed(failureOf(answer.error));
      const granted = await this.#exchange(authorization, answer);
      return { tokenId: await this.#bind(caller, authorization, granted) };
    } catch (error) {
      const failure = failureText(error, answer);
      await store.failAuthorization(this.#options.database.sql, authorization.id, failure);
      // A code that is wrong, used or not ours is the sender's mistake, not the provider's failure.
      throw error instanceof OAuthFailure && error.failure === "grant" ? consentFailed(failure) : error;
    }
  }

  async wait(caller: Caller, authId: string, timeoutMs: number, signal: AbortSignal): Promise<WaitOutcome> {
    const outcome = await this.#follow(authId, { timeoutMs, signal }, () => this.#look(caller, authId));
    return outcome ?? { status: timeoutMs === 0 ? "pending" : "timeout" };
  }

  /** Answers when the consent came to an end, at the latest after the time given. */
  async view(
    caller: TokenUser,
    authId: string,
    timeoutMs: number,
    signal: AbortSignal,
  ): Promise<ConsentView> {
    const ended = await this.#follow(authId, { timeoutMs, signal }, async () => {
      const now = this.#viewOf(await this.#findFor(caller, authId));
      return now.status === "pending" ? null : now;
    });
    return ended ?? this.#viewOf(await this.#findFor(caller, authId));
  }

  /** What waits for the caller, newest first. */
  async listOpen(caller: TokenUser): Promise<OpenConsent[]> {
    const { database, clock, secretBox } = this.#options;
    const open = await store.listOpenAuthorizations(database.sql, { ...caller, now: clock.now() });
    return open.flatMap((authorization) => {
      const { id, url_sealed: sealed } = authorization;
      return sealed === null ? [] : [{ authorization, url: secretBox.open(sealed, consentUrlContext(id)) }];
    });
  }

  /** Declines it: a request that waits for it gets `denied`. */
  async decline(caller: TokenUser, authId: string): Promise<void> {
    const { database, clock } = this.#options;
    const { id } = await this.#findFor(caller, authId);
    // Claimed first: a person who is just giving the consent wins.
    if (await store.claimAuthorization(database.sql, id, clock.now())) {
      await store.failAuthorization(database.sql, id, declined);
    }
  }

  /** The job that looks for a revocation endpoint while the provider is known to be up. */
  async findRevocation({ job }: JobContext): Promise<void> {
    const { providers } = this.#options;
    const provider = await providers.find((job.payload as { provider: string }).provider);
    if (provider) await providers.findRevocation(provider);
  }

  prune(): Promise<void> {
    const { database, clock } = this.#options;
    return store.deleteExpiredAuthorizations(database.sql, new Date(clock.now().getTime() - keepMs));
  }

  /** Everything is checked before anything is claimed: a stranger cannot use a consent up. */
  async #claim(caller: Caller, providerId: string, state: string): Promise<Authorization> {
    const { database, clock } = this.#options;
    const parsed = parseState(state);
    const found = parsed && (await store.findAuthorization(database.sql, caller.workspaceId, parsed.authId));
    if (!found || !isStateOf(found, parsed.secret) || found.provider_id !== providerId) throw stateRefused();
    if (found.subject_kind === "user" && found.initiator_id !== caller.userId) throw notTheInitiator();
    if (!(await store.claimAuthorization(database.sql, found.id, clock.now()))) throw stateRefused();
    return found;
  }

  async #exchange(authorization: Authorization, answer: CallbackAnswer): Promise<GrantedToken> {
    const { providers, client, secretBox } = this.#options;
    const provider = await providers.find(authorization.provider);
    if (!provider || answer.code === undefined) throw stateRefused();
    const { id, code_verifier_sealed: sealed } = authorization;
    return client.exchangeCode(provider, providers.secretOf(provider), {
      code: answer.code,
      state: answer.state,
      issuer: answer.iss,
      redirectUri: authorization.redirect_uri,
      codeVerifier: sealed === null ? null : secretBox.open(sealed, codeVerifierContext(id)),
    });
  }

  async #bind(caller: Caller, authorization: Authorization, granted: GrantedToken): Promise<string> {
    const { providers, database, tokens, connections } = this.#options;
    const provider = await providers.find(authorization.provider);
    if (!provider) throw stateRefused();
    const { workspace_id: workspaceId, agent_id: agentId, subject, subject_kind } = authorization;
    return database.transaction(async (tx) => {
      const tokenId = await tokens.store(tx, {
        identity: { workspaceId, provider: provider.id, ownerId: caller.userId, subject, agentId },
        provider,
        granted,
        scopes: authorization.scopes,
        isDefault: authorization.is_default,
        renewsTokenId: authorization.renews_token_id,
        metadata: Object.keys(granted.metadata).length > 0 ? granted.metadata : null,
        source: "consent",
      });
      if (subject_kind === "agent") {
        await connections.bind(tx, { workspaceId, agentId, tokenId, createdBy: caller.userId });
      }
      await store.completeAuthorization(tx, authorization.id, tokenId);
      if (knownRevocation(provider) === null && provider.metadata_checked_at === null) {
        const job = { kind: findRevocationJobKind, payload: { provider: provider.id } };
        await enqueue(tx, { ...job, idempotencyKey: provider.id, maxAttempts: 3 });
      }
      return tokenId;
    });
  }

  /** To anybody else it does not exist: an auth_id alone opens nothing. */
  async #findFor(caller: TokenUser, authId: string): Promise<Authorization> {
    const found = isUuid(authId)
      ? await store.findAuthorization(this.#options.database.sql, caller.workspaceId, authId)
      : undefined;
    if (!found || (found.subject_kind === "user" && found.initiator_id !== caller.userId)) {
      throw consentNotFound(authId);
    }
    return found;
  }

  #viewOf(authorization: Authorization): ConsentView {
    const { clock, secretBox } = this.#options;
    const { id, status, expires_at, url_sealed } = authorization;
    if (status === "completed" || status === "failed") return { authorization, status, url: null };
    if (expires_at <= clock.now()) return { authorization, status: "expired", url: null };
    const isOpen = status === "pending" && url_sealed !== null;
    const url = isOpen ? secretBox.open(url_sealed, consentUrlContext(id)) : null;
    return { authorization, status: "pending", url };
  }

  /** Looks until there is an outcome, or the time is over; null then. */
  async #follow<Outcome>(
    authId: string,
    { timeoutMs, signal }: { timeoutMs: number; signal: AbortSignal },
    look: () => Promise<Outcome | null>,
  ): Promise<Outcome | null> {
    const deadline = performance.now() + timeoutMs;
    for (;;) {
      const change = this.#notifications.listen(authId);
      try {
        const outcome = await look();
        const leftMs = deadline - performance.now();
        if (outcome !== null || leftMs <= 0 || signal.aborted) return outcome;
        await change.until(Math.min(leftMs, lookAgainMs), signal);
      } finally {
        change.end();
      }
    }
  }

  /** The outcome so far; null while the consent is on its way. */
  async #look(caller: Caller, authId: string): Promise<WaitOutcome | null> {
    const { database, refresh, clock } = this.#options;
    const found = isUuid(authId)
      ? await store.findAuthorization(database.sql, caller.workspaceId, authId)
      : undefined;
    // To anybody else it does not exist: an auth_id alone opens nothing.
    if (!found || found.initiator_id !== caller.userId) {
      return { status: "not_found", detail: "There is no such consent, or it has expired." };
    }
    if (found.status === "failed") {
      return isDenied(found.failure)
        ? { status: "denied", detail: `The consent was denied: ${found.failure}.` }
        : { status: "failed", detail: `The provider did not complete the consent: ${found.failure}.` };
    }
    if (found.status === "completed") {
      const token = found.token_id && (await findToken(database.sql, caller.workspaceId, found.token_id));
      const usable = token ? await refresh.usable(token, "reader") : null;
      return usable
        ? { status: "completed", token: usable.accessToken, expiresAt: usable.token.expires_at }
        : { status: "not_found", detail: "The token has been deleted or revoked." };
    }
    if (found.expires_at <= clock.now()) {
      return { status: "not_found", detail: "The consent was not given in time." };
    }
    return null;
  }
}

/** A short code: what is kept about a failure is shown to the initiator and must hold no secret. */
function failureText(error: unknown, answer: CallbackAnswer): string {
  if (answer.error !== undefined) return failureOf(answer.error);
  if (error instanceof OAuthFailure) return error.providerError ?? error.code;
  return error instanceof AppError ? error.code : "internal_error";
}
