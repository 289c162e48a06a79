import type { Clock } from "../../platform/clock.ts";
import type { Database } from "../../platform/db/database.ts";
import { newId, newSecret } from "../../platform/ids.ts";
import type { ApiKeyHasher } from "../api-keys/api-key-hasher.ts";
import { deleteOldCodes, findCode, insertCode, type SignInCode, useCode } from "./sign-in-code-store.ts";

export const codeLifetimeMs = 15 * 60_000;

export type SignInCodes = {
  /** A code that signs this user in, once and within a quarter of an hour. Only its hash is kept. */
  make(user: { organizationId: string; userId: string }): Promise<{ code: string; expiresAt: Date }>;
  find(code: string): Promise<SignInCode | undefined>;
  use(id: string): Promise<boolean>;
  prune(): Promise<void>;
};

export function createSignInCodes(options: {
  database: Database;
  clock: Clock;
  hasher: ApiKeyHasher;
}): SignInCodes {
  const { database, clock, hasher } = options;
  // The same hasher as for keys, but never the same hash.
  const hashOf = (code: string) => hasher.hash(`sign-in code ${code}`);
  return {
    async make({ organizationId, userId }) {
      const now = clock.now();
      const code = newSecret(32);
      const expiresAt = new Date(now.getTime() + codeLifetimeMs);
      const hash = await hashOf(code);
      await insertCode(database.sql, { id: newId(), hash, organizationId, userId, now, expiresAt });
      return { code, expiresAt };
    },
    find: async (code) => findCode(database.sql, await hashOf(code), clock.now()),
    use: (id) => useCode(database.sql, id, clock.now()),
    prune: () => deleteOldCodes(database.sql, new Date(clock.now().getTime() - codeLifetimeMs)),
  };
}

/** The link that carries a code. Behind `#`, so that no server and no log on the way sees it. */
export function signInLink(url: string, code: string): string {
  return `${url.replace(/\/+$/, "")}/sign-in#code=${code}`;
}
