import { Readable } from "node:stream";
import { z } from "zod";
import type { Authorize } from "../../platform/http/access.ts";
import type { ServerEnv } from "../../platform/http/pipeline.ts";
import { type Route, type RouteSpec, route } from "../../platform/http/route.ts";
import { requestHeaders, responseHeaders } from "./forward-headers.ts";
import { admit, notServing } from "./gateway-access.ts";
import type { RequestProxy } from "./proxy.ts";
import type { Targets } from "./targets.ts";

export type GatewayOptions = { targets: Targets; proxy: RequestProxy; authorize: Authorize };

const maxBodyBytes = 25 * 1024 * 1024;
const params = z.object({ slug: z.string(), rest: z.string() });
/** Whatever the server behind it answers. */
const anyStatus: RouteSpec["responses"] = Object.fromEntries(
  Array.from({ length: 400 }, (_, index) => [200 + index, { description: "The deployed server's answer" }]),
);

/** `/d/{slug}/…` in every method. Open here, because a project with its own authentication asks for itself. */
export function gatewayRoutes(options: GatewayOptions): Route[] {
  return (["get", "post", "put", "patch", "delete"] as const).map((method) =>
    route(
      {
        method,
        path: "/d/{slug}/{rest*}",
        operationId: `gateway_${method}`,
        summary: "A deployed agent server",
        tag: "Gateway",
        access: { kind: "open" },
        params,
        maxBodyBytes,
        responses: anyStatus,
        hidden: true,
      },
      async ({ params: { slug }, c }) => {
        const request = c.req.raw;
        const env = c.env as ServerEnv;
        const prefix = `/d/${slug}`;
        const url = new URL(request.url);
        const path = `${url.pathname.slice(url.pathname.indexOf(prefix) + prefix.length) || "/"}${url.search}`;
        const target = await admit(
          { slug, method: request.method, path: url.pathname, headers: request.headers, urlHost: url.host },
          options.targets,
          options.authorize,
        );
        if (!target.instance) throw notServing(target);
        const facts = {
          port: target.instance.port,
          host: request.headers.get("host") ?? url.host,
          protocol: url.protocol.slice(0, -1),
          prefix,
          remote: env.incoming?.socket.remoteAddress ?? "127.0.0.1",
        };
        const incomingHeaders = env.incoming?.headers ?? Object.fromEntries(request.headers);
        const { incoming, body } = await options.proxy.forward({
          instance: target.instance,
          method: request.method,
          path,
          headers: requestHeaders(incomingHeaders, facts, { usesOwnAuth: target.usesOwnAuth }),
          body: bodyOf(request, env),
          maxBodyBytes,
          signal: leaving(env),
        });
        const status = incoming.statusCode ?? 502;
        return new Response(await body(), {
          status,
          headers: toHeaders(responseHeaders(incoming.headers, status, prefix)),
        });
      },
    ),
  );
}

function bodyOf(request: Request, env: ServerEnv): Readable | undefined {
  if (request.method === "GET" || request.method === "HEAD") return undefined;
  if (env.incoming) {
    const { headers } = env.incoming;
    const none = headers["transfer-encoding"] === undefined && (headers["content-length"] ?? "0") === "0";
    return none ? undefined : env.incoming;
  }
  return request.body ? Readable.fromWeb(request.body as Parameters<typeof Readable.fromWeb>[0]) : undefined;
}

/** Aborts when the client's connection closes before the answer was complete. */
function leaving(env: ServerEnv): AbortSignal {
  const controller = new AbortController();
  const { outgoing } = env;
  outgoing?.once("close", () => {
    if (!outgoing.writableFinished) controller.abort();
  });
  return controller.signal;
}

function toHeaders(given: ReturnType<typeof responseHeaders>): Headers {
  const headers = new Headers();
  for (const [name, value] of Object.entries(given)) {
    if (value === undefined) continue;
    for (const item of Array.isArray(value) ? value : [String(value)]) headers.append(name, item);
  }
  return headers;
}
