/**
 * Cookies of the platform at the origin of a deployment. Over https a browser takes the `__Host-` name only from this
 * very host, for every path, with Secure; over plain http any host under the same domain can set the other name.
 */
export type PageCookie = "page" | "entry";

/** `several`: a neighbour has set one of them, and it is not known which one, so none counts. */
export type ReadCookie = { kind: "none" } | { kind: "several" } | { kind: "one"; value: string };

const valuePattern = /^[\w.-]{20,3000}$/;

export function cookieName(cookie: PageCookie, origin: string): string {
  const name = cookie === "page" ? "treadle_page" : "treadle_page_entry";
  return isSecure(origin) ? `__Host-${name}` : name;
}

export function readCookie(header: string | undefined, cookie: PageCookie, origin: string): ReadCookie {
  const name = cookieName(cookie, origin);
  const values = (header ?? "").split(";").flatMap((part) => {
    const end = part.indexOf("=");
    return end !== -1 && part.slice(0, end).trim() === name ? [part.slice(end + 1).trim()] : [];
  });
  if (values.length > 1) return { kind: "several" };
  const [value] = values;
  return value !== undefined && valuePattern.test(value) ? { kind: "one", value } : { kind: "none" };
}

/** For this host alone. Without `maxAgeSeconds` it lasts until the browser is closed. */
export function setCookie(
  cookie: PageCookie,
  value: string,
  origin: string,
  maxAgeSeconds: number | null = null,
): string {
  const age = maxAgeSeconds === null ? "" : `; Max-Age=${maxAgeSeconds}`;
  const secure = isSecure(origin) ? "; Secure" : "";
  return `${cookieName(cookie, origin)}=${value}; Path=/; HttpOnly; SameSite=Lax${secure}${age}`;
}

function isSecure(origin: string): boolean {
  return origin.startsWith("https:");
}
