import type { Adapter } from "oidc-provider";

interface Entry {
  model: string;
  payload: Record<string, unknown>;
  expiresAt: number;
}

/** What one OAuth server remembers; the package's own memory is shared by all servers of a process. */
export function createOAuthMemory() {
  const entries = new Map<string, Entry>();

  const read = (key: string) => {
    const entry = entries.get(key);
    if (!entry) return undefined;
    if (entry.expiresAt > Date.now()) return entry.payload;
    entries.delete(key);
    return undefined;
  };
  const findBy = (model: string, field: string, value: string) => {
    for (const [key, entry] of entries) {
      if (entry.model === model && entry.payload[field] === value) return read(key);
    }
    return undefined;
  };
  const removeWhere = (matches: (entry: Entry) => boolean) => {
    let removed = 0;
    for (const [key, entry] of entries) {
      if (!matches(entry)) continue;
      entries.delete(key);
      removed += 1;
    }
    return removed;
  };

  const adapterFor = (model: string): Adapter => ({
    async upsert(id, payload, expiresInSeconds) {
      const expiresAt = expiresInSeconds ? Date.now() + expiresInSeconds * 1000 : Number.POSITIVE_INFINITY;
      entries.set(`${model}:${id}`, { model, payload, expiresAt });
    },
    find: async (id) => read(`${model}:${id}`),
    findByUid: async (uid) => findBy(model, "uid", uid),
    findByUserCode: async (userCode) => findBy(model, "userCode", userCode),
    async consume(id) {
      const payload = read(`${model}:${id}`);
      if (payload) payload.consumed = Math.floor(Date.now() / 1000);
    },
    async destroy(id) {
      entries.delete(`${model}:${id}`);
    },
    async revokeByGrantId(grantId) {
      removeWhere((entry) => entry.model === model && entry.payload.grantId === grantId);
    },
  });

  return {
    adapterFor,
    /** Forgets what an account has been granted, as when its owner removes the app's access. */
    forgetAccount: (accountId: string) => removeWhere(({ payload }) => payload.accountId === accountId),
    /** Forgets the issued access tokens and keeps the refresh tokens. */
    forgetAccessTokens: () => removeWhere(({ model }) => model === "AccessToken"),
  };
}
