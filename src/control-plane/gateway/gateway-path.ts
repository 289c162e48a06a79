export type GatewayPath = {
  slug: string;
  prefix: string;
  /** Path and query as the server behind sees them. */
  target: string;
  /** The path alone. */
  path: string;
};

const pattern = /^\/d\/([A-Za-z0-9_-]{1,128})(\/[^?#\\]*)?(\?[^#]*)?$/;
/** Parts that mean another path than they say, however they are written. */
const dots = /\/(?:\.|%2e){1,2}(?=[/?]|$)/i;

/** Whether a request is for a deployment, and for what of it; null for paths that could be read in two ways. */
export function parseGatewayPath(url: string | undefined): GatewayPath | null {
  if (url === undefined || !url.startsWith("/d/")) return null;
  const match = pattern.exec(url);
  if (!match) return null;
  const [, slug, path = "/", query = ""] = match;
  if (path.includes(".") || path.includes("%")) if (dots.test(path)) return null;
  return { slug: slug!, prefix: `/d/${slug}`, target: `${path}${query}`, path };
}
