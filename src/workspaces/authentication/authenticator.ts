import type { Clock } from "../../platform/clock.ts";
import type { Database } from "../../platform/db/database.ts";
import { sameText } from "../../platform/encryption/same-text.ts";
import { AppError } from "../../platform/errors.ts";
import { ExpiringCache } from "../../platform/expiring-cache.ts";
import { type Authenticator, type Caller, CallerRefused } from "../../platform/http/access/caller.ts";
import { looksLikeJwt } from "../../platform/http/access/jwt-shape.ts";
import type { Logger } from "../../platform/logger.ts";
import { badCredential, isExpired, type KeyIdentity, mayUseAccounts } from "../identity/api-key.ts";
import type { ApiKeyHasher } from "../identity/api-key-hasher.ts";
import { findIdentityByHash, findIdentityById, touchApiKey } from "../identity/api-key-store.ts";
import { identityChannel } from "../identity/identity-change-store.ts";
import { weakerRole } from "../identity/role.ts";
import { callerInWorkspace } from "../identity/workspace-choice.ts";
import type { Person } from "../sessions/console-session-store.ts";
import type { KeyCallers, SessionAuthenticator } from "../sessions/session-authenticator.ts";
import { isDeploymentToken } from "../tokens/deployment-token.ts";
import type { SessionService } from "../tokens/session-service.ts";

const rememberMs = 5_000;
const rememberAtMost = 5_000;
const touchEveryMs = 60_000;

type KeyAuthenticatorOptions = {
  database: Database;
  clock: Clock;
  logger: Logger;
  hasher: ApiKeyHasher;
  sessions: SessionService;
  people: SessionAuthenticator;
  /** What else is remembered of callers is forgotten with it. */
  onForget: () => void;
  loopbackCaller: () => Caller | undefined;
};

/** Recognises callers by their keys, and hands cookies and tokens of people to who knows those. */
export class KeyAuthenticator implements Authenticator, KeyCallers {
  readonly #options: KeyAuthenticatorOptions;
  readonly #identities: ExpiringCache<KeyIdentity>;
  readonly #persons: ExpiringCache<Person>;
  readonly #touched: ExpiringCache<true>;
  readonly #writing = new Map<string, Promise<void>>();
  #unlisten: (() => Promise<void>) | undefined;

  constructor(options: KeyAuthenticatorOptions) {
    this.#options = options;
    const remembered = { clock: options.clock, ttlMs: rememberMs, maxEntries: rememberAtMost };
    this.#identities = new ExpiringCache<KeyIdentity>(remembered);
    this.#persons = new ExpiringCache<Person>(remembered);
    this.#touched = new ExpiringCache<true>({ ...remembered, ttlMs: touchEveryMs });
  }

  /** Starts listening for changes made by other processes. */
  async start(): Promise<void> {
    this.#unlisten ??= await this.#options.database.listen(
      identityChannel,
      () => this.forget(),
      () => this.forget(),
    );
  }

  /** Drops all cached identities: something about keys, members or workspaces changed. */
  forget(): void {
    this.#identities.clear();
    this.#persons.clear();
    this.#options.onForget();
  }

  async stop(): Promise<void> {
    await this.#unlisten?.();
    this.#unlisten = undefined;
    await Promise.all(this.#writing.values());
  }

  async authenticate(headers: Headers, request?: Request): Promise<Caller | null> {
    const { people } = this.#options;
    const credential = readCredential(headers);
    // Without a request, as in the gateway, a cookie does not identify a user.
    if (credential === null) return request ? people.byCookie(headers, request, this) : null;
    const tenant = headers.get("x-tenant-id");
    if (isDeploymentToken(credential)) return people.byDeploymentToken(credential, tenant, this);
    return looksLikeJwt(credential) ? this.#bySession(credential, tenant) : this.#byKey(credential, tenant);
  }

  personOf(userId: string, load: () => Promise<Person | undefined>): Promise<Person | undefined> {
    return this.#persons.load(userId, load);
  }

  async workspacesOfKey(id: string): Promise<string[]> {
    return (await this.#identityById(id))?.memberships.map(({ workspace_id }) => workspace_id) ?? [];
  }

  async callerOfKey(id: string, tenant: string | null): Promise<Caller | undefined> {
    const identity = await this.#identityById(id);
    if (!identity) return undefined;
    this.#checkAge(identity);
    return callerOf(identity, tenant, "session");
  }

  async loopbackCaller(): Promise<Caller> {
    const caller = this.#options.loopbackCaller();
    if (!caller) {
      throw new AppError({
        code: "auth.not_ready",
        kind: "unavailable",
        message: "The server is still starting and has no workspace yet. Try again in a moment.",
      });
    }
    return caller;
  }

  #identityById(id: string) {
    return this.#identities.load(`id:${id}`, () => findIdentityById(this.#options.database, id));
  }

  async #byKey(key: string, tenant: string | null): Promise<Caller> {
    const { hasher, database } = this.#options;
    const hash = await hasher.hash(key);
    const identity = await this.#identities.load(`hash:${hash}`, () => findIdentityByHash(database, hash));
    if (!identity || !sameText(identity.hash, hash)) {
      throw badCredential("The API key is not known or was revoked. Check X-Api-Key, or create a key.");
    }
    this.#checkAge(identity);
    const caller = callerOf(identity, tenant, "api_key");
    this.#touch(identity.id);
    return caller;
  }

  async #bySession(token: string, tenant: string | null): Promise<Caller> {
    const claims = await this.#options.sessions.verify(token);
    const identity = await this.#identityById(claims.key_id);
    if (!identity || identity.user_id !== claims.sub) {
      throw badCredential(
        "The API key that started this session was revoked. Start a session with another key.",
      );
    }
    this.#checkAge(identity);
    const caller = callerOf(identity, claims.workspace_id, "session");
    // Asked for in the header, another workspace is refused by the same words as with a key.
    const asked = tenant === null || tenant.trim() === "" ? caller : callerOf(identity, tenant, "session");
    if (asked.workspaceId !== caller.workspaceId) {
      const error = new AppError({
        code: "workspace.forbidden",
        kind: "forbidden",
        message: `This session belongs to workspace ${caller.workspaceId}. Start another one to act in ${asked.workspaceId}.`,
      });
      throw new CallerRefused(error, caller);
    }
    return { ...caller, role: weakerRole(claims.role, caller.role) };
  }

  #checkAge(identity: KeyIdentity): void {
    if (isExpired(identity.expires_at, this.#options.clock.now())) {
      const at = identity.expires_at!.toISOString();
      throw badCredential(`The API key expired at ${at}. Create a new one.`);
    }
  }

  /** Not awaited: when a key was last used is worth knowing, not worth waiting for. */
  #touch(id: string): void {
    const { database, clock, logger } = this.#options;
    if (this.#touched.get(id) || this.#writing.has(id)) return;
    const write = this.#touched
      .load(id, async () => {
        await touchApiKey(database, id, clock.now());
        return true;
      })
      .then(
        () => undefined,
        (error: unknown) => logger.warn({ err: error, key_id: id }, "could not record the use of an API key"),
      )
      .finally(() => this.#writing.delete(id));
    this.#writing.set(id, write);
  }
}

function callerOf(identity: KeyIdentity, tenant: string | null, via: "api_key" | "session"): Caller {
  return callerInWorkspace(identity, tenant, {
    organizationId: identity.organization_id,
    userId: identity.user_id ?? identity.id,
    via: identity.user_id === null ? "service" : via,
    scopes: identity.scopes,
    ...(identity.tracing_project === null ? {} : { tracingProject: identity.tracing_project }),
    mayUseAccounts: mayUseAccounts(identity),
    apiKeyId: identity.id,
  });
}

/** `X-Api-Key` wins, because `Authorization` may be meant for a deployed agent's own login. */
function readCredential(headers: Headers): string | null {
  const key = headers.get("x-api-key")?.trim();
  if (key) return key;
  const authorization = headers.get("authorization")?.trim();
  if (!authorization) return null;
  const [, bearer] = /^bearer\s+(\S.*)$/i.exec(authorization) ?? [];
  if (bearer) return bearer;
  throw badCredential("The Authorization header must read `Bearer <API key or session token>`.");
}
