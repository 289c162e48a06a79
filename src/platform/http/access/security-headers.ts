export const pagePolicy = [
  "default-src 'self'",
  "script-src 'self'",
  "style-src 'self' 'unsafe-inline'",
  "img-src 'self' data: blob:",
  "media-src 'self' blob:",
  "object-src 'none'",
  "base-uri 'none'",
  "form-action 'self'",
  "frame-ancestors 'none'",
].join("; ");

/** What a handler set itself stays; only `nosniff` is not negotiable. */
export function addSecurityHeaders(headers: Pick<Headers, "has" | "get" | "set">, isPublic: boolean): void {
  headers.set("x-content-type-options", "nosniff");
  if (!headers.has("x-frame-options")) headers.set("x-frame-options", "DENY");
  if (!headers.has("referrer-policy")) headers.set("referrer-policy", "no-referrer");
  if (!isPublic && !headers.has("cache-control")) headers.set("cache-control", "no-store");
  if (headers.get("content-type")?.startsWith("text/html") && !headers.has("content-security-policy")) {
    headers.set("content-security-policy", pagePolicy);
  }
}
