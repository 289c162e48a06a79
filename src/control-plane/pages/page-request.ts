import type { IncomingHttpHeaders } from "node:http";

/** Where a code is exchanged, at the origin of a deployment without authentication of its own. */
export const entryPath = "/.treadle/enter";

const longestPath = 1_000;

/** A navigation of the browser: the answer may be another page. Scripts, images and frames are not that. */
export function isNavigation(method: string, headers: IncomingHttpHeaders): boolean {
  if (!isRead(method)) return false;
  const mode = headers["sec-fetch-mode"];
  const dest = headers["sec-fetch-dest"];
  if (mode !== undefined || dest !== undefined) return mode === "navigate" && dest === "document";
  // Browsers leave these out on plain http, except on this machine.
  return /(?:^|[\s,])text\/html\b/i.test(headers.accept ?? "");
}

/**
 * Whether a request with the page's cookie was made by the page itself, or opens it. Another deployment under the same
 * domain is same-site, so a browser sends the cookie with its requests too. `SameSite` does not distinguish them,
 * `Origin` does. `CONNECT` means a WebSocket.
 */
export function isOfOwnPage(method: string, headers: IncomingHttpHeaders, origin: string): boolean {
  const from = headers.origin?.toLowerCase();
  if (from !== undefined && from !== origin) return false;
  if (!isRead(method)) return from === origin;
  // A typed address, or a followed link: the page with the link cannot read the answer.
  if (isNavigation(method, headers)) return true;
  const site = headers["sec-fetch-site"];
  if (site !== undefined) return site === "same-origin" || site === "none";
  // Plain http: a neighbour may include a script of this page in its own, and can leave Referer out but not write it.
  return from === origin || URL.parse(headers.referer ?? "")?.origin === origin;
}

/**
 * With `no-referrer` the page's own reads over plain http and its forms (`Origin: null`) look like a neighbour's.
 * `same-origin` reveals as little to others.
 */
export function refererPolicy(value: string): string {
  return /(?:^|,)\s*no-referrer\s*$/i.test(value) ? "same-origin" : value;
}

/** Where to go on after entering: what was asked for, as far as it is a path of the same origin, or the start. */
export function returnPath(target: string): string {
  const [path = "/"] = target.split("?", 1);
  return [target, path].find((wanted) => wanted.length <= longestPath && isOwnPath(wanted)) ?? "/";
}

function isOwnPath(wanted: string): boolean {
  // `//host` and `/\host` name another host; so may dot segments and control characters once they are taken out.
  if (!/^\/(?![/\\])[\x21-\x5b\x5d-\x7e]*$/.test(wanted)) return false;
  const base = "http://own.invalid";
  const url = URL.parse(wanted, base);
  if (url === null || url.origin !== base || url.pathname.startsWith("//")) return false;
  return url.pathname !== entryPath && `${url.pathname}${url.search}` === wanted;
}

function isRead(method: string): boolean {
  return method === "GET" || method === "HEAD";
}
