import { createHash, createHmac, timingSafeEqual } from "node:crypto";

/*
 * The studio of an agent server that stands alone. With the server's secret, which lives as long as the command, links
 * are made and their visitors recognised. Processes that serve one project one after another share the secret.
 */

/** How long a link is good. */
export const studioLinkMs = 15 * 60_000;

/** What a link carries behind `#`: good until then, and once. */
export function studioCode(secret: string, expiresAt: number): string {
  return `${expiresAt.toString(36)}.${proof(secret, `code ${expiresAt}`)}`;
}

/** Where the studio of that server is, signed in. */
export function studioLink(url: string, secret: string, now: number): string {
  return `${url}/studio#code=${studioCode(secret, now + studioLinkMs)}`;
}

export function isStudioCode(secret: string, code: string, now: number): boolean {
  const expiresAt = Number.parseInt(code.split(".")[0] ?? "", 36);
  return Number.isSafeInteger(expiresAt) && now < expiresAt && same(code, studioCode(secret, expiresAt));
}

/** Cookies ignore ports: servers side by side on one machine need different cookie names. */
export function studioCookieName(secret: string): string {
  return `treadle_studio_${createHash("sha256").update(secret).digest("hex").slice(0, 8)}`;
}

/** The cookie's value of a browser that came by a link. */
export function studioToken(secret: string): string {
  return proof(secret, "session");
}

export function isStudioToken(secret: string, token: string): boolean {
  return same(token, studioToken(secret));
}

function proof(secret: string, text: string): string {
  return createHmac("sha256", secret).update(text).digest("base64url");
}

/** Hashed first, so that the time taken reveals nothing. */
function same(given: string, expected: string): boolean {
  const digest = (text: string) => createHash("sha256").update(text).digest();
  return timingSafeEqual(digest(given), digest(expected));
}
