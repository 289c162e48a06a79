import { isLoopbackOrigin } from "./loopback.ts";

export type CorsRules = {
  /** Exact origins; `*` admits every origin for requests that carry their own credential. */
  origins: string[];
  /** While the server is open on loopback, pages on this machine may call it. */
  allowLoopback: boolean;
  /** Strangers in any case, also on this machine. */
  neverTrusted?: (origin: string) => boolean;
  /** Further origins, as a whole. */
  originPattern?: RegExp;
  /** Request headers a page may send besides the usual ones; `*` admits all. */
  headers?: readonly string[];
  /** Methods besides the usual ones; `*` changes nothing, because the usual ones are all there are. */
  methods?: readonly string[];
  /** Answer headers a page may read besides the usual ones. */
  exposed?: readonly string[];
  /** Whether a page may send cookies. */
  credentials?: boolean;
  maxAgeSeconds?: number;
};

export type Cors = {
  /** The `Access-Control-Allow-Origin` for this origin; null refuses. */
  allowedOrigin(origin: string): string | null;
  /** Named by the operator or on this machine: trusted to act without a credential. `*` is not trust. */
  isTrusted(origin: string): boolean;
  /** Adds the headers a browser needs to let the page read the answer. */
  decorate(headers: Pick<Headers, "set" | "append">, origin: string): void;
  preflight(request: Request): Response;
};

const exposed =
  "content-location, location, x-pagination-total, x-pagination-next, x-request-id, x-error-code, retry-after";
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
    origins.has(origin.toLowerCase()) ||
    rules.originPattern?.test(origin) === true ||
    (rules.allowLoopback && isLoopbackOrigin(origin) && rules.neverTrusted?.(origin) !== true);
  const exposedHeaders = [exposed, ...(rules.exposed ?? [])].join(", ");
  const methods = [allowedMethods, ...(rules.methods ?? []).filter((name) => name !== "*")].join(", ");
  const allowedOrigin = (origin: string) => (isTrusted(origin) ? origin : anyOrigin ? "*" : null);
  return {
    allowedOrigin,
    isTrusted,
    decorate(headers, origin) {
      headers.append("vary", "Origin");
      const allowed = allowedOrigin(origin);
      if (allowed === null) return;
      headers.set("access-control-allow-origin", allowed);
      headers.set("access-control-expose-headers", exposedHeaders);
      // Never with `*`: browsers refuse that, and rightly.
      if (rules.credentials && allowed !== "*") headers.set("access-control-allow-credentials", "true");
    },
    preflight(request) {
      const headers = new Headers({ vary: "Origin, Access-Control-Request-Headers" });
      const allowed = allowedOrigin(request.headers.get("origin") ?? "");
      if (allowed !== null) {
        headers.set("access-control-allow-origin", allowed);
        headers.set("access-control-allow-methods", methods);
        headers.set("access-control-allow-headers", headersFor(request, rules));
        headers.set("access-control-max-age", String(rules.maxAgeSeconds ?? 600));
        if (rules.credentials && allowed !== "*") headers.set("access-control-allow-credentials", "true");
        if (request.headers.get("access-control-request-private-network") === "true") {
          headers.set("access-control-allow-private-network", "true");
        }
      }
      return new Response(null, { status: 204, headers });
    },
  };
}

function headersFor(request: Request, rules: CorsRules): string {
  const more = rules.headers ?? [];
  const asked = more.includes("*") ? request.headers.get("access-control-request-headers") : null;
  return [allowedHeaders, ...more.filter((name) => name !== "*"), ...(asked ? [asked] : [])].join(", ");
}
