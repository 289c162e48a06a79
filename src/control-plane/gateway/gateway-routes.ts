import { z } from "zod";
import { type Route, type RouteSpec, route } from "../../platform/http/route.ts";
import { type AdmissionOptions, admit, notServing, pathRefused } from "./gateway-access.ts";
import { gatewayRoute } from "./gateway-listener.ts";

const params = z.object({ slug: z.string(), rest: z.string() });
/** Any answer of the server behind it. */
const anyStatus: RouteSpec["responses"] = Object.fromEntries(
  Array.from({ length: 400 }, (_, index) => [200 + index, { description: "The deployed server's answer" }]),
);

/**
 * What the listener on the wire leaves: paths that only became the gateway's when they were normalised, and requests
 * that never were on a wire. Open here, because a project with its own authentication asks for itself.
 */
export function gatewayRoutes(options: AdmissionOptions): Route[] {
  return (["get", "post", "put", "patch", "delete"] as const).map((method) =>
    route(
      {
        method,
        path: gatewayRoute,
        operationId: `gateway_${method}`,
        summary: "A deployed agent server",
        tag: "Gateway",
        access: { kind: "open" },
        params,
        responses: anyStatus,
        hidden: true,
      },
      async ({ params: { slug }, request }) => {
        const { headers, url, method } = request;
        const { pathname, host } = new URL(url);
        const { target } = await admit(
          {
            slug,
            method,
            path: pathname,
            headers: { host, ...Object.fromEntries(headers) },
            ownOrigin: null,
          },
          options,
        );
        if (!target.instance) throw notServing(target);
        throw pathRefused();
      },
    ),
  );
}
