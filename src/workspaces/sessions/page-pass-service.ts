import type { Clock } from "../../platform/clock.ts";
import type { Database } from "../../platform/db/database.ts";
import { sameText } from "../../platform/encryption/same-text.ts";
import { AppError } from "../../platform/errors.ts";
import type { Caller } from "../../platform/http/access/caller.ts";
import { newSecret } from "../../platform/ids.ts";
import type { ApiKeyHasher } from "../identity/api-key-hasher.ts";
import type { DeploymentTokens } from "../tokens/deployment-token-service.ts";
import type { ConsoleSessions } from "./console-session-service.ts";
import { deleteOldPageCodes, insertPageCode, takePageCode } from "./page-code-store.ts";
import type { KeyCallers, SessionAuthenticator } from "./session-authenticator.ts";

/** The pages of one deployment, and one browser's attempt to enter them. */
export type PagePlace = { deploymentId: string; origin: string; state: string };

export const pageCodeLifetimeMs = 60_000;
/** It ends with the console session in any case; a page that stays open need not ask again all day. */
const pageTokenLifetimeMs = 12 * 3_600_000;

type PagePassesOptions = {
  database: Database;
  clock: Clock;
  hasher: ApiKeyHasher;
  sessions: ConsoleSessions;
  tokens: DeploymentTokens;
  people: SessionAuthenticator;
  keys: KeyCallers;
};

/** How a person of a console session enters the page of a deployment: a code, used once. */
export class PagePasses {
  readonly #options: PagePassesOptions;

  constructor(options: PagePassesOptions) {
    this.#options = options;
  }

  /** The person of the caller's console session as they are in that workspace; null where it is not theirs. */
  async personIn({ sessionId }: Caller, workspaceId: string): Promise<Caller | null> {
    return sessionId === undefined ? null : this.#personOf(sessionId, workspaceId);
  }

  /** A code for this place, good once and for a minute. */
  async makeCode(
    person: Caller,
    { deploymentId, origin, state }: PagePlace,
  ): Promise<{ code: string; expiresAt: Date }> {
    const { clock, database } = this.#options;
    const now = clock.now();
    const code = newSecret(32);
    const expiresAt = new Date(now.getTime() + pageCodeLifetimeMs);
    const row = {
      workspace_id: person.workspaceId,
      session_id: person.sessionId!,
      deployment_id: deploymentId,
      origin,
      state_hash: await this.#hashOf("state", state),
      expires_at: expiresAt,
    };
    await insertPageCode(database.sql, await this.#hashOf("code", code), row, now);
    return { code, expiresAt };
  }

  /** What the browser then keeps: a token for that deployment, at that origin alone. Null: no code for this place. */
  async redeem(code: string, { deploymentId, origin, state }: PagePlace): Promise<string | null> {
    const { database, clock, tokens } = this.#options;
    const row = await takePageCode(database.sql, await this.#hashOf("code", code));
    const now = clock.now();
    if (!row || row.expires_at <= now) return null;
    if (row.deployment_id !== deploymentId || row.origin !== origin) return null;
    if (!sameText(row.state_hash, await this.#hashOf("state", state))) return null;
    const person = await this.#personOf(row.session_id, row.workspace_id);
    if (!person) return null;
    const page = { origin, lifetimeMs: pageTokenLifetimeMs };
    return (await tokens.issue(person, deploymentId, page)).token;
  }

  /** The caller that such a token identifies there; null when it has ended or is for another place. */
  callerOf(token: string, origin: string): Promise<Caller | null> {
    const { people, keys } = this.#options;
    return nullIfRefused(() => people.byDeploymentToken(token, null, keys, origin));
  }

  prune(): Promise<void> {
    const { database, clock } = this.#options;
    return deleteOldPageCodes(database.sql, clock.now());
  }

  // The hasher of keys, but never the same hash.
  #hashOf(kind: "code" | "state", text: string) {
    return this.#options.hasher.hash(`page ${kind} ${text}`);
  }

  async #personOf(sessionId: string, workspaceId: string): Promise<Caller | null> {
    const { sessions, people, keys } = this.#options;
    const session = await sessions.findLive(sessionId);
    if (!session) return null;
    return nullIfRefused(() => people.bySession(session, workspaceId, keys));
  }
}

async function nullIfRefused(work: () => Promise<Caller>): Promise<Caller | null> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof AppError && (error.kind === "unauthenticated" || error.kind === "forbidden"))
      return null;
    throw error;
  }
}
