export type GatewayPath = {
  slug: string;
  /** `/d/{slug}`; empty where the host names the deployment. */
  prefix: string;
  /** Path and query as the server behind sees them. */
  target: string;
  /** The path alone. */
  path: string;
};

const pattern = /^\/d\/([A-Za-z0-9_-]{1,128})(\/[^?#\\]*)?(\?[^#]*)?$/;
const rootPattern = /^(\/[^?#\\]*)(\?[^#]*)?$/;
/** Dot segments, in any encoding: they resolve to another path. */
const dots = /(?:\/|%2f|%5c)(?:\.|%2e){1,2}(?=\/|%2f|%5c|$)/i;
/** For what of which deployment a request is; "refused" when that could be read in two ways, null when it is for none. */
export function parseGatewayPath(
  url: string | undefined,
  hostSlug: string | null = null,
): GatewayPath | "refused" | null {
  if (url === undefined) return null;
  if (hostSlug !== null) return parseRoot(url, hostSlug);
  if (!url.startsWith("/d/")) return isClaimed(url) ? "refused" : null;
  const match = pattern.exec(url);
  if (!match) return url === "/d/" ? null : "refused";
  const [, slug, path = "/", query = ""] = match;
  if (isTwofold(path)) return "refused";
  const prefix = `/d/${slug}`;
  // Clients put a Location behind the address they know, and a Location carries the prefix already.
  const cut = path.startsWith(`${prefix}/`) ? path.slice(prefix.length) : path;
  return { slug: slug!, prefix, target: `${cut}${query}`, path: cut };
}

function parseRoot(url: string, slug: string): GatewayPath | "refused" {
  const match = rootPattern.exec(url);
  if (!match || isTwofold(match[1]!)) return "refused";
  const [, path = "/", query = ""] = match;
  return { slug, prefix: "", target: `${path}${query}`, path };
}

function isTwofold(path: string): boolean {
  return (path.includes(".") || path.includes("%")) && dots.test(path);
}

/** `//d/…`, `\d\…` and absolute forms become paths of the gateway, or of the API, once they are normalised. */
function isClaimed(url: string): boolean {
  const path = url.split(/[?#]/, 1)[0]!.replace(/^[a-z][a-z0-9+.-]*:[/\\]{2}[^/\\]*/i, "");
  return /^[/\\]+d[/\\]/.test(path);
}
