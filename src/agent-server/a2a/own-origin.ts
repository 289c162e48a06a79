/**
 * The origin by which the gateway was asked, where that is the server's own; null under a path of the platform's. Only
 * for servers that nobody but the gateway reaches: others' headers say what their callers like.
 */
export function ownOriginOf(headers: Headers): string | null {
  const host = headers.get("x-forwarded-host");
  if (host === null || headers.has("x-forwarded-prefix")) return null;
  return `${headers.get("x-forwarded-proto") === "https" ? "https" : "http"}://${host}`;
}
