/** What the console sends with each request. No other site's page can: a browser would ask first, and is refused. */
export const consoleHeader = "x-treadle-console";

const safeMethods = new Set(["GET", "HEAD"]);

export type OwnPlace = {
  /** What people use, when it is set. */
  publicUrl: string | undefined;
  /** The host of the request's URL, where there is no Host header. */
  urlHost: string;
};

/**
 * Whether a request that a browser sent with a cookie was made by this server's own pages. A browser adds the cookie to
 * every request to this host, from any page. Only these headers show which page made it, and pages cannot forge them.
 */
export function isOwnPage(headers: Headers, method: string, place: OwnPlace): boolean {
  const site = headers.get("sec-fetch-site");
  // `none`: the address bar. `same-site` is a neighbour, for example a deployment's own origin.
  if (site !== null && site !== "same-origin" && site !== "none") return false;
  const origin = headers.get("origin");
  if (origin !== null && !isOwnOrigin(origin, headers, place)) return false;
  const marked = headers.get(consoleHeader) !== null;
  if (!safeMethods.has(method)) return marked && (site === "same-origin" || origin !== null);
  // Browsers leave Sec-Fetch-Site out on plain http outside this machine, and Origin out of reads of one's own server.
  return marked || site !== null || origin !== null;
}

/** Behind a proxy, the host the page knows is the one the proxy was asked for; a page can set neither. */
function isOwnOrigin(origin: string, headers: Headers, place: OwnPlace): boolean {
  const own = place.publicUrl === undefined ? null : new URL(place.publicUrl).origin;
  if (origin === own) return true;
  const page = URL.parse(origin);
  if (page === null || page.host === "") return false;
  // An attacker on the network may forge pages of plain http, but not what is served over https.
  if (own?.startsWith("https:") && page.protocol !== "https:") return false;
  const hosts = [headers.get("host") ?? place.urlHost, headers.get("x-forwarded-host")];
  return hosts.some((host) => host?.toLowerCase() === page.host);
}
