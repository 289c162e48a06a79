import { AppError } from "../../platform/errors.ts";
import type { FailedCredentials } from "../../platform/http/access/failed-credentials.ts";
import { isOwnPage } from "../sessions/own-page.ts";
import type { CookiePlace } from "../sessions/session-cookie.ts";
import { readSessionCookie } from "../sessions/session-cookie.ts";
import type { Browser } from "./sign-in-service.ts";

export type SignInPlace = {
  /** What is configured, else where the server listens. */
  publicUrl: () => string | undefined;
  failedCredentials?: FailedCredentials | undefined;
};

/** Whether the browser is on https: by the configuration, or by the headers of a proxy in front. */
export function cookiePlace(headers: Headers, place: SignInPlace): CookiePlace {
  const https = place.publicUrl()?.startsWith("https:") || headers.get("x-forwarded-proto") === "https";
  return { https: https === true };
}

export function browserOf(headers: Headers, peer: string | undefined, place: SignInPlace): Browser {
  return {
    userAgent: headers.get("user-agent"),
    address: place.failedCredentials?.addressOf(peer, headers) ?? peer,
    presented: readSessionCookie(headers, {
      https: place.publicUrl()?.startsWith("https:") === true,
    }),
  };
}

/** Another site's page must not sign somebody in, not even as themselves: what they then do would be the attacker's. */
export function requireOwnPage(headers: Headers, request: Request, place: SignInPlace): void {
  const own = { publicUrl: place.publicUrl(), urlHost: new URL(request.url).host };
  if (isOwnPage(headers, request.method, own)) return;
  throw new AppError({
    code: "sign_in.foreign_page",
    kind: "forbidden",
    message:
      "People sign in from this server's own page, /sign-in. Programs send their key as X-Api-Key with each request.",
  });
}

/** Counts refusals, as everywhere: callers that try codes or keys here are slowed down too. */
export async function countingRefusals<T>(
  credential: string,
  address: string | undefined,
  failed: FailedCredentials | undefined,
  work: () => Promise<T>,
): Promise<T> {
  failed?.admit(address, credential);
  try {
    const result = await work();
    failed?.accepted(credential);
    return result;
  } catch (error) {
    if (error instanceof AppError && error.kind === "unauthenticated")
      await failed?.refused(address, credential);
    throw error;
  }
}
