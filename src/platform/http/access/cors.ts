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

/** Which pages of other origins may call, and the headers that let browsers do so. */
export class Cors {
  readonly #rules: CorsRules;
  readonly #origins: ReadonlySet<string>;
  readonly #exposedHeaders: string;
  readonly #methods: string;

  constructor(rules: CorsRules) {
    this.#rules = rules;
    this.#origins = new Set(rules.origins.map((origin) => origin.replace(/\/+$/, "").toLowerCase()));
    this.#exposedHeaders = [exposed, ...(rules.exposed ?? [])].join(", ");
    this.#methods = [allowedMethods, ...(rules.methods ?? []).filter((name) => name !== "*")].join(", ");
  }

  /** The `Access-Control-Allow-Origin` for this origin; null refuses. */
  allowedOrigin(origin: string): string | null {
    return this.isTrusted(origin) ? origin : this.#origins.has("*") ? "*" : null;
  }

  /** Named by the operator or on this machine: trusted to act without a credential. `*` is not trust. */
  isTrusted(origin: string): boolean {
    return (
      this.#origins.has(origin.toLowerCase()) ||
      this.#rules.originPattern?.test(origin) === true ||
      (this.#rules.allowLoopback && isLoopbackOrigin(origin) && this.#rules.neverTrusted?.(origin) !== true)
    );
  }

  /** Adds the headers a browser needs to let the page read the answer. */
  decorate(headers: Pick<Headers, "set" | "append">, origin: string): void {
    headers.append("vary", "Origin");
    const allowed = this.allowedOrigin(origin);
    if (allowed === null) return;
    headers.set("access-control-allow-origin", allowed);
    headers.set("access-control-expose-headers", this.#exposedHeaders);
    // Never with `*`: browsers refuse that, and rightly.
    if (this.#rules.credentials && allowed !== "*") headers.set("access-control-allow-credentials", "true");
  }

  preflight(request: Request): Response {
    const headers = new Headers({ vary: "Origin, Access-Control-Request-Headers" });
    const allowed = this.allowedOrigin(request.headers.get("origin") ?? "");
    if (allowed !== null) {
      headers.set("access-control-allow-origin", allowed);
      headers.set("access-control-allow-methods", this.#methods);
      headers.set("access-control-allow-headers", headersFor(request, this.#rules));
      headers.set("access-control-max-age", String(this.#rules.maxAgeSeconds ?? 600));
      if (this.#rules.credentials && allowed !== "*") headers.set("access-control-allow-credentials", "true");
      if (request.headers.get("access-control-request-private-network") === "true") {
        headers.set("access-control-allow-private-network", "true");
      }
    }
    return new Response(null, { status: 204, headers });
  }
}

function headersFor(request: Request, rules: CorsRules): string {
  const more = rules.headers ?? [];
  const asked = more.includes("*") ? request.headers.get("access-control-request-headers") : null;
  return [allowedHeaders, ...more.filter((name) => name !== "*"), ...(asked ? [asked] : [])].join(", ");
}
