/**
 * The request as it would be without the prefix; one that does not carry it is left as it is, so that probes and
 * proxies that cut the prefix off themselves work as well.
 */
export function withoutPrefix(request: Request, prefix: string): Request {
  const url = new URL(request.url);
  const path = cutPrefix(url.pathname, prefix);
  if (path === url.pathname) return request;
  url.pathname = path;
  return new Request(url, request);
}

/** The same for a path, which may have a query. */
export function cutPrefix(path: string, prefix: string): string {
  const mounted = `/${prefix.replace(/^\/+|\/+$/g, "")}`;
  if (mounted === "/" || !path.startsWith(mounted)) return path;
  const rest = path.slice(mounted.length);
  if (rest === "") return "/";
  if (rest.startsWith("?")) return `/${rest}`;
  return rest.startsWith("/") ? rest : path;
}
