import type { Clock } from "../../platform/clock.ts";
import type { Database } from "../../platform/db/database.ts";
import { sameText } from "../../platform/encryption/same-text.ts";
import { AppError } from "../../platform/errors.ts";
import { type Authenticator, type Caller, CallerRefused } from "../../platform/http/access/caller.ts";
import type { Logger } from "../../platform/logger.ts";
import { badCredential, isExpired, type KeyIdentity, mayUseAccounts } from "../api-keys/api-key.ts";
import type { ApiKeyHasher } from "../api-keys/api-key-hasher.ts";
import { findIdentityByHash, findIdentityById, touchApiKey } from "../api-keys/api-key-store.ts";
import { weakerRole } from "../members/role.ts";
import type { Person } from "../sessions/console-session-store.ts";
import { isDeploymentToken } from "../sessions/deployment-token.ts";
import type { KeyCallers, SessionAuthenticator } from "../sessions/session-authenticator.ts";
import { callerInWorkspace } from "../tenants/workspace-choice.ts";
import { createExpiringCache } from "./expiring-cache.ts";
import { identityChannel } from "./identity-change-store.ts";
import { looksLikeJwt } from "./session.ts";
import type { SessionService } from "./session-service.ts";

const rememberMs = 5_000;
const rememberAtMost = 5_000;
const touchEveryMs = 60_000;

export type KeyAuthenticator = Authenticator & {
  /** Starts listening for changes made by other processes. */
  start(): Promise<void>;
  /** Recognise nobody from memory: something about keys, members or workspaces changed. */
  forget(): void;
  /** For those who recognise people in other ways. */
  keys: KeyCallers;
  stop(): Promise<void>;
};

export function createAuthenticator(options: {
  database: Database;
  clock: Clock;
  logger: Logger;
  hasher: ApiKeyHasher;
  sessions: SessionService;
  people: SessionAuthenticator;
  /** What else is remembered of callers is forgotten with it. */
  onForget: () => void;
  loopbackCaller: () => Caller | undefined;
}): KeyAuthenticator {
  const { database, clock, logger, hasher, sessions, people } = options;
  const identities = createExpiringCache<KeyIdentity>({
    clock,
    ttlMs: rememberMs,
    maxEntries: rememberAtMost,
  });
  const persons = createExpiringCache<Person>({ clock, ttlMs: rememberMs, maxEntries: rememberAtMost });
  const touched = createExpiringCache<true>({ clock, ttlMs: touchEveryMs, maxEntries: rememberAtMost });
  const writing = new Map<string, Promise<void>>();
  let unlisten: (() => Promise<void>) | undefined;
  const forget = () => {
    identities.clear();
    persons.clear();
    options.onForget();
  };
  const identityById = (id: string) => identities.load(`id:${id}`, () => findIdentityById(database, id));
  const keys: KeyCallers = {
    personOf: (userId, load) => persons.load(userId, load),
    async workspacesOfKey(id) {
      return (await identityById(id))?.memberships.map(({ workspace_id }) => workspace_id) ?? [];
    },
    async callerOfKey(id, tenant) {
      const identity = await identityById(id);
      if (!identity) return undefined;
      checkAge(identity);
      return callerOf(identity, tenant, "session");
    },
  };

  return {
    async start() {
      unlisten ??= await database.listen(identityChannel, forget, forget);
    },
    forget,
    keys,
    async stop() {
      await unlisten?.();
      unlisten = undefined;
      await Promise.all(writing.values());
    },

    async authenticate(headers, request) {
      const credential = readCredential(headers);
      // Where there is no request, as in the gateway, a cookie is nobody's.
      if (credential === null) return request ? people.byCookie(headers, request, keys) : null;
      const tenant = headers.get("x-tenant-id");
      if (isDeploymentToken(credential)) return people.byDeploymentToken(credential, tenant, keys);
      return looksLikeJwt(credential) ? bySession(credential, tenant) : byKey(credential, tenant);
    },

    async loopbackCaller() {
      const caller = options.loopbackCaller();
      if (!caller) {
        throw new AppError({
          code: "auth.not_ready",
          kind: "unavailable",
          message: "The server is still starting and has no workspace yet. Try again in a moment.",
        });
      }
      return caller;
    },
  };

  async function byKey(key: string, tenant: string | null): Promise<Caller> {
    const hash = await hasher.hash(key);
    const identity = await identities.load(`hash:${hash}`, () => findIdentityByHash(database, hash));
    if (!identity || !sameText(identity.hash, hash)) {
      throw badCredential("The API key is not known or was revoked. Check X-Api-Key, or create a key.");
    }
    checkAge(identity);
    const caller = callerOf(identity, tenant, "api_key");
    touch(identity.id);
    return caller;
  }

  async function bySession(token: string, tenant: string | null): Promise<Caller> {
    const claims = await sessions.verify(token);
    const identity = await identityById(claims.key_id);
    if (!identity || identity.user_id !== claims.sub) {
      throw badCredential(
        "The API key that started this session was revoked. Start a session with another key.",
      );
    }
    checkAge(identity);
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

  function checkAge(identity: KeyIdentity): void {
    if (isExpired(identity.expires_at, clock.now())) {
      const at = identity.expires_at!.toISOString();
      throw badCredential(`The API key expired at ${at}. Create a new one.`);
    }
  }

  /** Not awaited: when a key was last used is worth knowing, not worth waiting for. */
  function touch(id: string): void {
    if (touched.get(id) || writing.has(id)) return;
    const write = touched
      .load(id, async () => {
        await touchApiKey(database, id, clock.now());
        return true;
      })
      .then(
        () => undefined,
        (error: unknown) => logger.warn({ err: error, key_id: id }, "could not record the use of an API key"),
      )
      .finally(() => writing.delete(id));
    writing.set(id, write);
  }
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
