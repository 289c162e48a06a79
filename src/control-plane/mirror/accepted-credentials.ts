import { createHash } from "node:crypto";
import { LRUCache } from "lru-cache";

const rememberAtMost = 5_000;

/**
 * What the platform has accepted as a credential. A key that its operator chose may look like anything, and here only the
 * platform's answer tells it from one of a project: from then on it is passed on to none, also after it was revoked.
 */
export class AcceptedCredentials {
  readonly #hashes = new LRUCache<string, true>({ max: rememberAtMost });

  /** Only the one that counts: with a key in `X-Api-Key`, `Authorization` may be meant for the project. */
  add({ api_key, authorization }: { api_key: string | null; authorization: string | null }): void {
    const text = api_key?.trim() || authorization?.replace(/^\s*bearer\s+/i, "").trim();
    if (text) this.#hashes.set(hashOf(text), true);
  }

  has(text: string): boolean {
    return this.#hashes.has(hashOf(text));
  }
}

const hashOf = (text: string) => createHash("sha256").update(text).digest("base64");
