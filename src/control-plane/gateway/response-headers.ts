import { connectionNames, hopByHop, mayConnectionName } from "./header-rules.ts";
import { confineCookie } from "./platform-cookies.ts";

export type AnswerPlace = {
  /** `/d/{slug}`, or empty where the deployment has an origin of its own. */
  prefix: string;
  port: number;
  /** A project with its own authentication sets its own CORS headers. */
  ownCors: boolean;
  /** Rewrites the referrer policy of its pages, where the platform recognises their requests by the referrer. */
  refererPolicy?: ((value: string) => string) | undefined;
};

/** The platform's own headers about access from other sites and about the request win. */
const answeredHere = new Set([
  "x-request-id",
  "access-control-allow-origin",
  "access-control-allow-credentials",
  "access-control-expose-headers",
]);

/** They speak for everything at an origin, which a deployment under a path shares with the platform. */
const originWide = new Set([
  "accept-ch",
  "alt-svc",
  "clear-site-data",
  "critical-ch",
  "expect-ct",
  "nel",
  "origin-agent-cluster",
  "public-key-pins",
  "public-key-pins-report-only",
  "report-to",
  "reporting-endpoints",
  "service-worker-allowed",
  "set-login",
  "speculation-rules",
  "strict-transport-security",
  "supports-loading-mode",
]);

/**
 * A page under `/d/{slug}` has an opaque origin: scripts and forms work, but it has no cookies, no storage and no
 * service worker, and its requests count as cross-site. Never `allow-same-origin`: that would be the platform's origin.
 */
export const pageSandbox = "sandbox allow-scripts allow-forms allow-popups allow-downloads";

/** `headers` and the result are names in lower case and values, one after the other. */
export function responseHeaders(headers: readonly string[], place: AnswerPlace): string[] {
  const kept: string[] = [];
  const shared = place.prefix !== "";
  const named = connectionNames(headerOf(headers, "connection")).filter(mayConnectionName);
  for (let index = 0; index < headers.length; index += 2) {
    const name = headers[index]!;
    const value = headers[index + 1]!;
    if (hopByHop.has(name) || named.includes(name)) continue;
    if (answeredHere.has(name) && !(place.ownCors && name !== "x-request-id")) continue;
    if (shared && originWide.has(name)) continue;
    if (name === "set-cookie") {
      const cookie = confineCookie(value, place.prefix);
      if (cookie !== null) kept.push(name, cookie);
    } else if (name === "location" || name === "content-location") {
      kept.push(name, locationFor(value, place));
    } else if (name === "referrer-policy" && place.refererPolicy) {
      kept.push(name, place.refererPolicy(value));
    } else kept.push(name, value);
  }
  if (shared) kept.push("content-security-policy", pageSandbox);
  return kept;
}

/** As it is reached from outside. */
function locationFor(location: string, { prefix, port }: AnswerPlace): string {
  const inside = `http://127.0.0.1:${port}`;
  const path =
    location === inside || location.startsWith(`${inside}/`)
      ? location.slice(inside.length) || "/"
      : location;
  if (!path.startsWith("/") || path.startsWith("//")) return path;
  return path === prefix || path.startsWith(`${prefix}/`) ? path : `${prefix}${path}`;
}

function headerOf(headers: readonly string[], name: string): string | undefined {
  const values: string[] = [];
  for (let index = 0; index < headers.length; index += 2) {
    if (headers[index] === name) values.push(headers[index + 1]!);
  }
  return values.length === 0 ? undefined : values.join(",");
}
