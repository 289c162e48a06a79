/**
 * The origin the request to the gateway was sent to, if it is the server's own; null under a path of the platform. Only
 * for servers that can be reached through the gateway alone: elsewhere clients can forge these headers.
 */
export function ownOriginOf(headers: Headers): string | null {
  const host = headers.get("x-forwarded-host");
  if (host === null || headers.has("x-forwarded-prefix")) return null;
  return `${headers.get("x-forwarded-proto") === "https" ? "https" : "http"}://${host}`;
}
