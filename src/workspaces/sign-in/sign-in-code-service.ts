import type { Clock } from "../../platform/clock.ts";
import type { Database } from "../../platform/db/database.ts";
import { newId, newSecret } from "../../platform/ids.ts";
import type { ApiKeyHasher } from "../identity/api-key-hasher.ts";
import {
  deleteInvitations,
  deleteOldCodes,
  findCode,
  insertCode,
  isInvitable,
  markCodeUsed,
  type SignInCode,
} from "./sign-in-code-store.ts";

export const codeLifetimeMs = 15 * 60_000;
export const invitationLifetimeMs = 7 * 24 * 60 * 60_000;

type SignInCodesOptions = {
  database: Database;
  clock: Clock;
  hasher: ApiKeyHasher;
};

/** The codes of one-time links. */
export class SignInCodes {
  readonly #options: SignInCodesOptions;

  constructor(options: SignInCodesOptions) {
    this.#options = options;
  }

  /** A code that signs this user in, once and within a quarter of an hour. Only its hash is stored. */
  async make({
    organizationId,
    userId,
  }: {
    organizationId: string;
    userId: string;
  }): Promise<{ code: string; expiresAt: Date }> {
    const { clock, database } = this.#options;
    const now = clock.now();
    const code = newSecret(32);
    const expiresAt = new Date(now.getTime() + codeLifetimeMs);
    const hash = await this.#hashOf(code);
    const invitedTo = null;
    await insertCode(database.sql, { id: newId(), hash, organizationId, userId, invitedTo, now, expiresAt });
    return { code, expiresAt };
  }

  /** A code for a member who never signed in and is in this workspace alone. Undefined where that is not so. */
  async invite(to: {
    organizationId: string;
    workspaceId: string;
    userId: string;
  }): Promise<{ code: string; expiresAt: Date } | undefined> {
    const { clock, database } = this.#options;
    const now = clock.now();
    const code = newSecret(32);
    const expiresAt = new Date(now.getTime() + invitationLifetimeMs);
    const hash = await this.#hashOf(code);
    const made = await database.transaction(async (tx) => {
      if (!(await isInvitable(tx, to.userId, to.workspaceId))) return false;
      await deleteInvitations(tx, to.userId);
      await insertCode(tx, { id: newId(), hash, ...to, invitedTo: to.workspaceId, now, expiresAt });
      return true;
    });
    return made ? { code, expiresAt } : undefined;
  }

  async find(code: string): Promise<SignInCode | undefined> {
    const { database, clock } = this.#options;
    return findCode(database.sql, await this.#hashOf(code), clock.now());
  }

  use(id: string): Promise<boolean> {
    const { database, clock } = this.#options;
    return markCodeUsed(database.sql, id, clock.now());
  }

  prune(): Promise<void> {
    const { database, clock } = this.#options;
    return deleteOldCodes(database.sql, new Date(clock.now().getTime() - codeLifetimeMs));
  }

  // The same hasher as for keys, but never the same hash.
  #hashOf(code: string) {
    return this.#options.hasher.hash(`sign-in code ${code}`);
  }
}

/** The link that carries a code, and where to go with it. The code is behind `#`, so that no server and no log on the way sees it. */
export function signInLink(url: string, code: string, page?: string): string {
  const search = page === undefined ? "" : `?return_to=${encodeURIComponent(page)}`;
  return `${url.replace(/\/+$/, "")}/sign-in${search}#code=${code}`;
}
