import { isLoopbackOrigin } from "./loopback.ts";

export type CorsRules = {
  /** Exact origins; `*` admits every origin for requests that carry their own credential. */
  origins: string[];
  /** While the server is open on loopback, pages on this machine may call it. */
  allowLoopback: boolean;
};

export type Cors = {
  /** What `Access-Control-Allow-Origin` says to this origin; null refuses. */
  allowedOrigin(origin: string): string | null;
  /** Named by the operator or on this machine: trusted to act without a credential. `*` is not trust. */
  isTrusted(origin: string): boolean;
  /** Adds the headers a browser needs to let the page read the answer. */
  decorate(headers: Headers, origin: string): void;
  preflight(request: Request): Response;
};

const exposed =
  "content-location, location, x-pagination-total, x-pagination-next, x-request-id, retry-after";
const allowedHeaders = [
  "accept",
  "authorization",
  "content-type",
  "idempotency-key",
  "last-event-id",
  "prefer",
  "x-api-key",
  "x-auth-scheme",
  "x-request-id",
  "x-tenant-id",
].join(", ");
const allowedMethods = "GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS";

export function createCors(rules: CorsRules): Cors {
  const origins = new Set(rules.origins.map((origin) => origin.replace(/\/+$/, "").toLowerCase()));
  const anyOrigin = origins.has("*");
  const isTrusted = (origin: string) =>
    origins.has(origin.toLowerCase()) || (rules.allowLoopback && isLoopbackOrigin(origin));
  const allowedOrigin = (origin: string) => (isTrusted(origin) ? origin : anyOrigin ? "*" : null);
  return {
    allowedOrigin,
    isTrusted,
    decorate(headers, origin) {
      headers.append("vary", "Origin");
      const allowed = allowedOrigin(origin);
      if (allowed === null) return;
      headers.set("access-control-allow-origin", allowed);
      headers.set("access-control-expose-headers", exposed);
    },
    preflight(request) {
      const headers = new Headers({ vary: "Origin, Access-Control-Request-Headers" });
      const allowed = allowedOrigin(request.headers.get("origin") ?? "");
      if (allowed !== null) {
        headers.set("access-control-allow-origin", allowed);
        headers.set("access-control-allow-methods", allowedMethods);
        headers.set("access-control-allow-headers", allowedHeaders);
        headers.set("access-control-max-age", "600");
        if (request.headers.get("access-control-request-private-network") === "true") {
          headers.set("access-control-allow-private-network", "true");
        }
      }
      return new Response(null, { status: 204, headers });
    },
  };
}
