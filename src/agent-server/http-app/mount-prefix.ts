/**
 * The request as it would be without the prefix; one that does not carry it is left as it is, so that probes and
 * proxies that cut the prefix off themselves work as well.
 */
export function withoutPrefix(request: Request, prefix: string): Request {
  const path = `/${prefix.replace(/^\/+|\/+$/g, "")}`;
  if (path === "/") return request;
  const url = new URL(request.url);
  if (url.pathname !== path && !url.pathname.startsWith(`${path}/`)) return request;
  url.pathname = url.pathname.slice(path.length) || "/";
  return new Request(url, request);
}
