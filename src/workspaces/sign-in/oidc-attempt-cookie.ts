import { z } from "zod";
import type { SecretBox } from "../../platform/encryption/secret-box.ts";
import { type CookiePlace, valuesOf } from "../sessions/session-cookie.ts";
import type { Attempt } from "./oidc-client.ts";

const secureName = "__Host-treadle_sign_in";
const plainName = "treadle_sign_in";
const context = "oidc-sign-in";
export const attemptLifetimeMs = 10 * 60_000;

const content = z.object({
  state: z.string(),
  nonce: z.string(),
  verifier: z.string(),
  return_to: z.string(),
  until: z.number(),
});

export type StoredAttempt = Attempt & { returnTo: string };

/**
 * An attempt to sign in lives in the browser that began it, sealed: an answer of the provider that another browser
 * brings, such as an attacker's own, finds none. Lax and not strict, because the provider sends the browser back.
 */
export function attemptCookie(attempt: StoredAttempt, place: CookiePlace, box: SecretBox, now: Date): string {
  const { state, nonce, verifier, returnTo } = attempt;
  const value: z.infer<typeof content> = {
    state,
    nonce,
    verifier,
    return_to: returnTo,
    until: now.getTime() + attemptLifetimeMs,
  };
  return cookie(box.seal(JSON.stringify(value), context), place, attemptLifetimeMs / 1000);
}

export function clearedAttemptCookie(place: CookiePlace): string {
  return cookie("", place, 0);
}

/** Null when there is none, it is too old, or it is not ours. */
export function readAttempt(
  headers: Headers,
  place: CookiePlace,
  box: SecretBox,
  now: Date,
): StoredAttempt | null {
  const [value, more] = valuesOf(headers.get("cookie") ?? "", place.https ? secureName : plainName);
  if (value === undefined || more !== undefined) return null;
  let text: string;
  try {
    text = box.open(value, context);
  } catch {
    // Not sealed here, or with a key that is gone: the same as none.
    return null;
  }
  const found = content.safeParse(JSON.parse(text));
  if (!found.success || found.data.until <= now.getTime()) return null;
  const { return_to: returnTo, until: _until, ...attempt } = found.data;
  return { ...attempt, returnTo };
}

function cookie(value: string, place: CookiePlace, maxAgeSeconds: number): string {
  const name = place.https ? secureName : plainName;
  return `${name}=${value}; Path=/; HttpOnly; SameSite=Lax; Max-Age=${maxAgeSeconds}${place.https ? "; Secure" : ""}`;
}
