import { z } from "zod";
import { type Route, route } from "../../platform/http/route.ts";
import { readDomain } from "./domain.ts";
import type { DomainTable } from "./domain-table.ts";

/**
 * What a proxy asks before it gets a certificate for a host (Caddy: `on_demand_tls { ask … }`). No credential is
 * needed: a request to the host itself shows the same, and the answer costs only a lookup in memory.
 */
export function domainAskRoutes(table: DomainTable): Route[] {
  return [
    route(
      {
        method: "get",
        path: "/v2/domains/ask",
        operationId: "ask_domain",
        summary: "Whether a host is a verified domain of a deployment",
        description:
          "For a proxy that ends TLS: 200 when it may get a certificate for the host, 404 when not. It needs no credential.",
        tag: "Deployments (v2)",
        access: { kind: "open" },
        query: z.object({ domain: z.string().min(1).max(300) }),
        responses: {
          200: { description: "It is" },
          404: { description: "It is not" },
        },
      },
      ({ query }) => {
        const asked = readDomain(query.domain);
        const isServed = "domain" in asked && table.slugOf(asked.domain) !== null;
        return new Response(null, { status: isServed ? 200 : 404, headers: { "cache-control": "no-store" } });
      },
    ),
  ];
}
