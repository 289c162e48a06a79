/**
 * Where to go after signing in: a page of this very host, or the start page. Anything else would let a link to the
 * sign-in page lead people to somebody else's copy of it; pages of deployments are somebody else's too.
 */
export function returnPath(wanted: string | null | undefined): string {
  if (!wanted || wanted.length > 2_000 || !/^\/(?![/\\])[\x21-\x7e]*$/.test(wanted)) return "/";
  const base = "http://own.invalid";
  const url = URL.parse(wanted, base);
  if (url === null || url.origin !== base) return "/";
  // Dot segments may leave two slashes, which a browser reads as another host.
  if (url.pathname.startsWith("//")) return "/";
  if (/^\/(d|v1|v2|api|sign-in)(\/|$)/.test(url.pathname)) return "/";
  return `${url.pathname}${url.search}${url.hash}`;
}
