import type { Clock } from "../../platform/clock.ts";
import type { Database, Sql } from "../../platform/db/database.ts";
import { AppError } from "../../platform/errors.ts";
import { ExpiringCache } from "../../platform/expiring-cache.ts";
import type { Caller } from "../../platform/http/access/caller.ts";
import { newId, newSecret } from "../../platform/ids.ts";
import type { Logger } from "../../platform/logger.ts";
import type { ApiKeyHasher } from "../identity/api-key-hasher.ts";
import type { IdentityChanges } from "../identity/identity-change-service.ts";
import { memberNotFound } from "../identity/member.ts";
import { findMember } from "../identity/member-store.ts";
import {
  type ConsoleSession,
  endsOf,
  isLive,
  type SessionLimits,
  type SignInMethod,
  sessionEnded,
  sessionNotFound,
  sessionsPerUser,
} from "./console-session.ts";
import {
  deleteEnded,
  findSessionByHash,
  findSessionById,
  insertSession,
  listSessions,
  revokeOldest,
  revokeSession,
  revokeUserSessions,
  saveSessionWorkspace,
  touchSession,
} from "./console-session-store.ts";

export type NewSession = {
  organizationId: string;
  userId: string;
  workspaceId: string | null;
  apiKey: { id: string; expiresAt: Date | null } | null;
  method: SignInMethod;
  userAgent: string | null;
  address: string | undefined;
  /** The session the browser had before: it ends with this. */
  replaces: string | null;
};

const rememberMs = 5_000;
const rememberAtMost = 5_000;
const touchEveryMs = 60_000;
const longestAgent = 300;
/** How long an ended session stays in the database, for the analysis of incidents. */
const keepEndedMs = 7 * 24 * 3_600_000;

type ConsoleSessionsOptions = {
  database: Database;
  clock: Clock;
  logger: Logger;
  hasher: ApiKeyHasher;
  limits: SessionLimits;
  changes: () => IdentityChanges;
};

/** Sessions of people who are signed in to the console. */
export class ConsoleSessions {
  readonly #options: ConsoleSessionsOptions;
  readonly #known: ExpiringCache<ConsoleSession>;
  readonly #touched: ExpiringCache<true>;
  readonly #writing = new Map<string, Promise<void>>();

  constructor(options: ConsoleSessionsOptions) {
    this.#options = options;
    const remembered = { clock: options.clock, ttlMs: rememberMs, maxEntries: rememberAtMost };
    this.#known = new ExpiringCache<ConsoleSession>(remembered);
    this.#touched = new ExpiringCache<true>({ ...remembered, ttlMs: touchEveryMs });
  }

  /** The same without a trace: undefined when there is none. */
  async find(secret: string): Promise<ConsoleSession | undefined> {
    const { hasher, database, clock } = this.#options;
    const hash = await hasher.hash(secret);
    const session = await this.#known.load(`hash:${hash}`, () => findSessionByHash(database, hash));
    return session && isLive(session, clock.now()) ? session : undefined;
  }

  /** A new session and the secret of its cookie, which is in this answer only. */
  async start(wanted: NewSession): Promise<{ secret: string; session: ConsoleSession }> {
    const { clock, hasher, changes, limits } = this.#options;
    const now = clock.now();
    const secret = newSecret(32);
    const hash = await hasher.hash(secret);
    const replaced = wanted.replaces === null ? undefined : await this.find(wanted.replaces);
    const session = await changes().apply(async (tx) => {
      if (replaced) await revokeSession(tx, replaced.id, replaced.user_id, now);
      const made = await insertSession(tx, {
        id: newId(),
        hash,
        organizationId: wanted.organizationId,
        userId: wanted.userId,
        workspaceId: wanted.workspaceId,
        apiKeyId: wanted.apiKey?.id ?? null,
        method: wanted.method,
        userAgent: (wanted.userAgent ?? "").slice(0, longestAgent),
        address: wanted.address ?? null,
        now,
        ...endsOf(now, limits, wanted.apiKey?.expiresAt ?? null),
      });
      await revokeOldest(tx, wanted.userId, sessionsPerUser, now);
      return made;
    });
    return { secret, session };
  }

  /** The live session of a cookie, marked as used; throws 401 when it has ended. */
  async recognise(secret: string): Promise<ConsoleSession> {
    const session = await this.find(secret);
    if (!session) throw sessionEnded();
    this.#touch(session.id);
    return session;
  }

  async findLive(id: string): Promise<ConsoleSession | undefined> {
    const { database, clock } = this.#options;
    const session = await this.#known.load(`id:${id}`, () => findSessionById(database, id));
    return session && isLive(session, clock.now()) ? session : undefined;
  }

  async chooseWorkspace(id: string, workspaceId: string): Promise<void> {
    await this.#options.changes().apply((tx) => saveSessionWorkspace(tx, id, workspaceId));
  }

  async list(caller: Caller, userId: string): Promise<ConsoleSession[]> {
    const { database, clock } = this.#options;
    await this.#checkMayLookAfter(caller, userId);
    return listSessions(database.sql, userId, clock.now());
  }

  async revoke(caller: Caller, userId: string, id: string): Promise<void> {
    const { clock, changes } = this.#options;
    await this.#checkMayLookAfter(caller, userId);
    const now = clock.now();
    const ended = await changes().apply((tx) => revokeSession(tx, id, userId, now));
    if (!ended) throw sessionNotFound(id);
  }

  /** Every session of the user; with `keepOwn`, but the one that asks. */
  async revokeAll(caller: Caller, userId: string, keepOwn: boolean): Promise<number> {
    const { clock, changes } = this.#options;
    await this.#checkMayLookAfter(caller, userId);
    const now = clock.now();
    const keep = keepOwn ? (caller.sessionId ?? null) : null;
    return changes().apply((tx) => revokeUserSessions(tx, userId, now, keep));
  }

  async endAllOf(tx: Sql, userId: string): Promise<void> {
    await revokeUserSessions(tx, userId, this.#options.clock.now());
  }

  async prune(): Promise<void> {
    const { clock, database } = this.#options;
    const before = new Date(clock.now().getTime() - keepEndedMs);
    while ((await deleteEnded(database.sql, before)) > 0);
  }

  forget(): void {
    this.#known.clear();
  }

  async stop(): Promise<void> {
    await Promise.all(this.#writing.values());
  }

  /** Users manage their own sessions, admins also those of the workspace's members. */
  async #checkMayLookAfter(caller: Caller, userId: string): Promise<void> {
    if (userId === caller.userId) return;
    if (caller.role !== "admin") {
      throw new AppError({
        code: "session.forbidden",
        kind: "forbidden",
        message: "Only an admin may see or end the sessions of another user. Leave user_id out for your own.",
      });
    }
    if (!(await findMember(this.#options.database.sql, caller.workspaceId, userId)))
      throw memberNotFound(userId);
  }

  /** Not awaited: when a session was last used is worth knowing, not worth waiting for. */
  #touch(id: string): void {
    const { clock, database, limits, logger } = this.#options;
    if (this.#touched.get(id) || this.#writing.has(id)) return;
    const now = clock.now();
    const write = this.#touched
      .load(id, async () => {
        await touchSession(database, id, now, new Date(now.getTime() + limits.idleMs));
        return true;
      })
      .then(
        () => undefined,
        (error: unknown) =>
          logger.warn({ err: error, session_id: id }, "could not record the use of a session"),
      )
      .finally(() => this.#writing.delete(id));
    this.#writing.set(id, write);
  }
}
