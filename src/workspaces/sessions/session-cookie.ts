/** Over https: a browser takes it only with Secure, for this host alone and every path, so no neighbour can set it. */
const secureName = "__Host-treadle_session";
const plainName = "treadle_session";
const valuePattern = /^[\w-]{20,200}$/;

/** How the browser reaches this server, as far as cookies care. */
export type CookiePlace = { https: boolean };

/**
 * The session a browser presents. Two cookies of one name are no session: a neighbour under the same domain has set
 * one of them, and it is not known which one. Over https the plain name is never read, since anybody can set that.
 */
export function readSessionCookie(headers: Headers, place: CookiePlace): string | null {
  const header = headers.get("cookie");
  if (header === null) return null;
  const secure = valuesOf(header, secureName);
  const found = secure.length > 0 || place.https ? secure : valuesOf(header, plainName);
  const [value] = found;
  return found.length === 1 && value !== undefined && valuePattern.test(value) ? value : null;
}

/** Without `maxAgeSeconds` it lasts until the browser is closed. */
export function sessionCookie(value: string, place: CookiePlace, maxAgeSeconds: number | null): string {
  const age = maxAgeSeconds === null ? "" : `; Max-Age=${Math.floor(maxAgeSeconds)}`;
  return `${nameFor(place)}=${value}; Path=/; HttpOnly; SameSite=Strict${place.https ? "; Secure" : ""}${age}`;
}

export function clearedSessionCookie(place: CookiePlace): string {
  return sessionCookie("", place, 0);
}

function nameFor(place: CookiePlace): string {
  return place.https ? secureName : plainName;
}

export function valuesOf(header: string, name: string): string[] {
  return header
    .split(";")
    .map((part) => part.trim())
    .filter((part) => part.startsWith(`${name}=`))
    .map((part) => part.slice(name.length + 1));
}
