import type { IncomingHttpHeaders, OutgoingHttpHeaders } from "node:http";

/** They speak about one connection and not about the request. */
const hopByHop = new Set([
  "connection",
  "keep-alive",
  "proxy-authenticate",
  "proxy-authorization",
  "proxy-connection",
  "te",
  "trailer",
  "transfer-encoding",
  "upgrade",
]);
/** The gateway has decided about these; the server behind it would judge them as if it were alone. */
const decidedHere = new Set([
  "host",
  "origin",
  "referer",
  "sec-fetch-site",
  "sec-fetch-mode",
  "sec-fetch-dest",
]);
/** The platform's own credentials are not for a project's code, unless it brings its own authentication. */
const platformCredentials = new Set(["x-api-key", "x-tenant-id", "x-service-key"]);

export type ForwardFacts = { port: number; host: string; protocol: string; prefix: string; remote: string };

export function requestHeaders(
  incoming: IncomingHttpHeaders,
  facts: ForwardFacts,
  options: { usesOwnAuth: boolean; upgrade?: boolean },
): OutgoingHttpHeaders {
  const named = connectionNamed(incoming);
  const headers: OutgoingHttpHeaders = {};
  for (const [name, value] of Object.entries(incoming)) {
    if (value === undefined || decidedHere.has(name) || name.startsWith("x-forwarded-")) continue;
    if (
      (hopByHop.has(name) || named.has(name)) &&
      !(options.upgrade && (name === "upgrade" || name === "connection"))
    ) {
      continue;
    }
    if (!options.usesOwnAuth && (platformCredentials.has(name) || name === "authorization")) continue;
    headers[name] = value;
  }
  headers.host = `127.0.0.1:${facts.port}`;
  headers["x-forwarded-for"] = facts.remote;
  headers["x-forwarded-host"] = facts.host;
  headers["x-forwarded-proto"] = facts.protocol;
  headers["x-forwarded-prefix"] = facts.prefix;
  return headers;
}

/** What the platform itself says about access from other sites and about the request wins. */
const answeredHere = new Set([
  "x-request-id",
  "access-control-allow-origin",
  "access-control-allow-credentials",
  "access-control-expose-headers",
]);

export function responseHeaders(
  incoming: IncomingHttpHeaders,
  status: number,
  prefix: string,
): OutgoingHttpHeaders {
  const named = connectionNamed(incoming);
  const headers: OutgoingHttpHeaders = {};
  for (const [name, value] of Object.entries(incoming)) {
    if (value === undefined || hopByHop.has(name) || named.has(name) || answeredHere.has(name)) continue;
    headers[name] = value;
  }
  // A redirect is followed from the outside; other locations are read by clients that know the prefix.
  const { location } = incoming;
  if (location?.startsWith("/") && !location.startsWith("//") && status >= 300 && status < 400) {
    headers.location = `${prefix}${location}`;
  }
  return headers;
}

function connectionNamed(headers: IncomingHttpHeaders): Set<string> {
  const names = (headers.connection ?? "").split(",").map((name) => name.trim().toLowerCase());
  return new Set(names.filter((name) => name !== "" && name !== "keep-alive" && name !== "close"));
}
