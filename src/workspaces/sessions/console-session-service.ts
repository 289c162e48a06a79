import type { Clock } from "../../platform/clock.ts";
import type { Database, Sql } from "../../platform/db/database.ts";
import { AppError } from "../../platform/errors.ts";
import type { Caller } from "../../platform/http/access/caller.ts";
import { newId, newSecret } from "../../platform/ids.ts";
import type { Logger } from "../../platform/logger.ts";
import type { ApiKeyHasher } from "../api-keys/api-key-hasher.ts";
import { createExpiringCache } from "../authentication/expiring-cache.ts";
import type { IdentityChanges } from "../authentication/identity-change-service.ts";
import { memberNotFound } from "../members/member.ts";
import { findMember } from "../members/member-store.ts";
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

export type ConsoleSessions = {
  /** A new session and the secret of its cookie, which is in this answer only. */
  start(session: NewSession): Promise<{ secret: string; session: ConsoleSession }>;
  /** The live session of a cookie, marked as used; throws 401 when it has ended. */
  recognise(secret: string): Promise<ConsoleSession>;
  /** The same without a trace: undefined when there is none. */
  find(secret: string): Promise<ConsoleSession | undefined>;
  findLive(id: string): Promise<ConsoleSession | undefined>;
  chooseWorkspace(id: string, workspaceId: string): Promise<void>;
  list(caller: Caller, userId: string): Promise<ConsoleSession[]>;
  revoke(caller: Caller, userId: string, id: string): Promise<void>;
  /** Every session of the user; with `keepOwn`, but the one that asks. */
  revokeAll(caller: Caller, userId: string, keepOwn: boolean): Promise<number>;
  endAllOf(tx: Sql, userId: string): Promise<void>;
  prune(): Promise<void>;
  forget(): void;
  stop(): Promise<void>;
};

const rememberMs = 5_000;
const rememberAtMost = 5_000;
const touchEveryMs = 60_000;
const longestAgent = 300;
/** How long an ended session stays in the database, for whoever looks into an incident. */
const keepEndedMs = 7 * 24 * 3_600_000;

export function createConsoleSessions(options: {
  database: Database;
  clock: Clock;
  logger: Logger;
  hasher: ApiKeyHasher;
  limits: SessionLimits;
  changes: () => IdentityChanges;
}): ConsoleSessions {
  const { database, clock, logger, hasher, limits, changes } = options;
  const known = createExpiringCache<ConsoleSession>({
    clock,
    ttlMs: rememberMs,
    maxEntries: rememberAtMost,
  });
  const touched = createExpiringCache<true>({ clock, ttlMs: touchEveryMs, maxEntries: rememberAtMost });
  const writing = new Map<string, Promise<void>>();

  async function find(secret: string): Promise<ConsoleSession | undefined> {
    const hash = await hasher.hash(secret);
    const session = await known.load(`hash:${hash}`, () => findSessionByHash(database, hash));
    return session && isLive(session, clock.now()) ? session : undefined;
  }

  return {
    find,
    async start(wanted) {
      const now = clock.now();
      const secret = newSecret(32);
      const hash = await hasher.hash(secret);
      const replaced = wanted.replaces === null ? undefined : await find(wanted.replaces);
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
    },

    async recognise(secret) {
      const session = await find(secret);
      if (!session) throw sessionEnded();
      touch(session.id);
      return session;
    },

    async findLive(id) {
      const session = await known.load(`id:${id}`, () => findSessionById(database, id));
      return session && isLive(session, clock.now()) ? session : undefined;
    },

    async chooseWorkspace(id, workspaceId) {
      await changes().apply((tx) => saveSessionWorkspace(tx, id, workspaceId));
    },

    async list(caller, userId) {
      await checkMayLookAfter(caller, userId);
      return listSessions(database.sql, userId, clock.now());
    },

    async revoke(caller, userId, id) {
      await checkMayLookAfter(caller, userId);
      const now = clock.now();
      const ended = await changes().apply((tx) => revokeSession(tx, id, userId, now));
      if (!ended) throw sessionNotFound(id);
    },

    async revokeAll(caller, userId, keepOwn) {
      await checkMayLookAfter(caller, userId);
      const now = clock.now();
      const keep = keepOwn ? (caller.sessionId ?? null) : null;
      return changes().apply((tx) => revokeUserSessions(tx, userId, now, keep));
    },

    async endAllOf(tx, userId) {
      await revokeUserSessions(tx, userId, clock.now());
    },

    async prune() {
      const before = new Date(clock.now().getTime() - keepEndedMs);
      while ((await deleteEnded(database.sql, before)) > 0);
    },

    forget: known.clear,
    async stop() {
      await Promise.all(writing.values());
    },
  };

  /** Everybody looks after their own sessions, an admin after those of the workspace's members too. */
  async function checkMayLookAfter(caller: Caller, userId: string): Promise<void> {
    if (userId === caller.userId) return;
    if (caller.role !== "admin") {
      throw new AppError({
        code: "session.forbidden",
        kind: "forbidden",
        message: "Only an admin may see or end the sessions of another user. Leave user_id out for your own.",
      });
    }
    if (!(await findMember(database.sql, caller.workspaceId, userId))) throw memberNotFound(userId);
  }

  /** Not awaited: when a session was last used is worth knowing, not worth waiting for. */
  function touch(id: string): void {
    if (touched.get(id) || writing.has(id)) return;
    const now = clock.now();
    const write = touched
      .load(id, async () => {
        await touchSession(database, id, now, new Date(now.getTime() + limits.idleMs));
        return true;
      })
      .then(
        () => undefined,
        (error: unknown) =>
          logger.warn({ err: error, session_id: id }, "could not record the use of a session"),
      )
      .finally(() => writing.delete(id));
    writing.set(id, write);
  }
}
