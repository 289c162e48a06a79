import { decodeJwt } from "jose";
import type { Database } from "../../platform/db/database.ts";
import { looksLikeJwt } from "../../platform/http/access/jwt-shape.ts";
import { generatedStart } from "../identity/api-key.ts";
import type { ApiKeyHasher } from "../identity/api-key-hasher.ts";
import { isKnownHash } from "../identity/api-key-store.ts";
import { isDeploymentToken } from "../tokens/deployment-token.ts";
import { sessionIssuer } from "../tokens/session.ts";

/** Long enough for a conversation, short enough for a key that was made meanwhile. */
const rememberMs = 5_000;
const rememberAtMost = 5_000;

/**
 * Whether a text is a credential of the platform: a key, also a revoked one, or a token it signed, also an expired one.
 * It is for what must not be passed on, and proves nothing about who is calling.
 */
export function createCredentialRecogniser(options: { database: Database; hasher: ApiKeyHasher }) {
  const strangers = new Map<string, number>();
  return async (text: string): Promise<boolean> => {
    if (text.startsWith(generatedStart) || isDeploymentToken(text)) return true;
    if (looksLikeJwt(text)) return issuerOf(text) === sessionIssuer;
    // An operator's own key may look like anything.
    const hash = await options.hasher.hash(text);
    const now = performance.now();
    if ((strangers.get(hash) ?? 0) > now) return false;
    if (await isKnownHash(options.database, hash)) return true;
    if (strangers.size >= rememberAtMost) strangers.clear();
    strangers.set(hash, now + rememberMs);
    return false;
  };
}

function issuerOf(token: string): string | undefined {
  try {
    return decodeJwt(token).iss;
  } catch {
    // No claims, so the token has no issuer.
    return undefined;
  }
}
