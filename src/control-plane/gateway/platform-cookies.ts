/** Cookies of the platform itself: a deployment neither sees nor sets one. */
const platformCookie = /^(?:__(?:Host|Secure)-)?treadle/i;

/** A Cookie header without the platform's. */
export function withoutPlatformCookies(header: string): string {
  if (!/treadle/i.test(header)) return header;
  return header
    .split(";")
    .map((pair) => pair.trim())
    .filter((pair) => pair !== "" && !platformCookie.test(nameOf(pair)))
    .join("; ");
}

/**
 * A deployment's Set-Cookie, confined to its place: never for a whole domain, and under the deployment's path where it
 * shares an origin with others. Null when it must not be set at all.
 */
export function confineCookie(header: string, prefix: string): string | null {
  const [pair = "", ...attributes] = header.split(";");
  const name = nameOf(pair);
  // One without a name is sent as its value alone, which may read like another cookie.
  if (name === "" || platformCookie.test(name)) return null;
  const kept = [pair.trim()];
  let path = "";
  for (const attribute of attributes) {
    const key = attribute.split("=", 1)[0]!.trim().toLowerCase();
    if (key === "domain") continue;
    // The last one counts.
    if (key === "path") path = attribute.slice(attribute.indexOf("=") + 1).trim();
    else if (attribute.trim() !== "") kept.push(attribute.trim());
  }
  const place = prefix === "" ? path : pathUnder(path, prefix);
  if (place !== "") kept.push(`Path=${place}`);
  return kept.join("; ");
}

function pathUnder(path: string, prefix: string): string {
  if (path === prefix || path.startsWith(`${prefix}/`)) return path;
  return path.startsWith("/") && path !== "/" ? `${prefix}${path}` : prefix;
}

function nameOf(pair: string): string {
  const end = pair.indexOf("=");
  return (end === -1 ? "" : pair.slice(0, end)).trim();
}
