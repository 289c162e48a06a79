import type { IncomingHttpHeaders, OutgoingHttpHeaders } from "node:http";
import { isLoopbackOrigin } from "../../platform/http/loopback.ts";

/** They speak about one connection and not about the request. */
const hopByHop = new Set([
  "connection",
  "expect",
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
const platformCredentials = new Set(["x-api-key", "x-tenant-id", "x-service-key", "authorization"]);

export type ForwardFacts = { port: number; host: string; protocol: string; prefix: string; remote: string };

export function requestHeaders(
  incoming: IncomingHttpHeaders,
  facts: ForwardFacts,
  options: { usesOwnAuth: boolean; upgrade?: boolean },
): OutgoingHttpHeaders {
  const named = connectionNamed(incoming);
  const headers: OutgoingHttpHeaders = {};
  for (const name in incoming) {
    const value = incoming[name];
    if (value === undefined || name.startsWith("x-forwarded-")) continue;
    if (decidedHere.has(name) && !(name === "origin" && mayPassOrigin(incoming.origin!, options))) continue;
    if (hopByHop.has(name) || named?.has(name)) {
      if (!(options.upgrade && (name === "upgrade" || name === "connection"))) continue;
    }
    if (!options.usesOwnAuth && platformCredentials.has(name)) continue;
    headers[name] = value;
  }
  headers.host = `127.0.0.1:${facts.port}`;
  headers["x-forwarded-for"] = facts.remote;
  headers["x-forwarded-host"] = facts.host;
  headers["x-forwarded-proto"] = facts.protocol;
  headers["x-forwarded-prefix"] = facts.prefix;
  if (incoming.origin !== undefined && headers.origin === undefined)
    headers["x-forwarded-origin"] = incoming.origin;
  return headers;
}

/**
 * A project that asks for credentials itself judges origins itself. For the others the gateway has; their server,
 * which sees no credential, would take a page of another site for an intruder, but never one of this machine.
 */
function mayPassOrigin(origin: string, options: { usesOwnAuth: boolean }): boolean {
  return options.usesOwnAuth || isLoopbackOrigin(origin);
}

/** The same on the wire. */
export function requestHead(method: string, path: string, headers: OutgoingHttpHeaders): string {
  let text = `${method} ${path} HTTP/1.1\r\n`;
  for (const name in headers) {
    const value = headers[name];
    if (Array.isArray(value)) for (const item of value) text += `${name}: ${item}\r\n`;
    else if (value !== undefined) text += `${name}: ${value}\r\n`;
  }
  return `${text}\r\n`;
}

/** What the platform itself says about access from other sites and about the request wins. */
const answeredHere = new Set([
  "x-request-id",
  "access-control-allow-origin",
  "access-control-allow-credentials",
  "access-control-expose-headers",
]);

/** `headers` and the result are names in lower case and values, one after the other. */
export function responseHeaders(
  headers: readonly string[],
  answer: { status: number; prefix: string; ownCors: boolean },
): string[] {
  const kept: string[] = [];
  const named = connectionNamed({ connection: headerOf(headers, "connection") });
  for (let index = 0; index < headers.length; index += 2) {
    const name = headers[index]!;
    const value = headers[index + 1]!;
    if (hopByHop.has(name) || named?.has(name)) continue;
    if (answeredHere.has(name) && !(answer.ownCors && name !== "x-request-id")) continue;
    kept.push(name, name === "location" ? locationFor(value, answer) : value);
  }
  return kept;
}

/** A redirect is followed from the outside; other locations are read by clients that know the prefix. */
function locationFor(location: string, { status, prefix }: { status: number; prefix: string }): string {
  const local = location.startsWith("/") && !location.startsWith("//");
  return local && status >= 300 && status < 400 ? `${prefix}${location}` : location;
}

function headerOf(headers: readonly string[], name: string): string | undefined {
  for (let index = 0; index < headers.length; index += 2) {
    if (headers[index] === name) return headers[index + 1];
  }
  return undefined;
}

/** Further headers that a `Connection` header says are about the connection. */
function connectionNamed({ connection }: { connection?: string | undefined }): Set<string> | null {
  if (connection === undefined || /^\s*(keep-alive|close)\s*$/i.test(connection)) return null;
  const names = connection.split(",").map((name) => name.trim().toLowerCase());
  return new Set(names.filter((name) => name !== "" && name !== "keep-alive" && name !== "close"));
}
