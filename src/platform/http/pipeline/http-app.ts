import { type Context, Hono } from "hono";
import { AppError } from "../../errors.ts";
import { Cors } from "../access/cors.ts";
import { errorResponse } from "../error-response.ts";
import { docsRoutes } from "../openapi/docs-page.ts";
import { documentRoutes } from "../openapi/openapi-routes.ts";
import { AccessLog } from "../server/access-log.ts";
import { requestIdOf } from "../server/request-id.ts";
import type { ServerEnv } from "../server/server-env.ts";
import { type Authorize, createAuthorize } from "./authorize.ts";
import { decorate } from "./decorate-response.ts";
import { PathRouter, routerPath } from "./path-router.ts";
import type { HttpAppOptions, HttpHono, Pipeline } from "./pipeline.ts";
import { type BeginRaw, createRawExchanges } from "./raw-exchange.ts";
import { createRouteHandler } from "./route-handler.ts";

export type { HttpAppOptions, ServerEnv };

export type HttpApp = {
  fetch(request: Request, env?: ServerEnv): Response | Promise<Response>;
  app: Hono<HttpHono>;
  /** The same decision for WebSocket upgrades, which do not pass through routes. */
  authorize: Authorize;
  /** For what passes through on the wire. */
  raw(route: string): BeginRaw;
};

/** Every request: id, routing, access, validation, handler, error shape, headers, log; one closure per route. */
export function createHttpApp(options: HttpAppOptions): HttpApp {
  const cors = new Cors({
    ...options.cors,
    origins: options.corsOrigins,
    allowLoopback: !options.agentAuthRequired,
  });
  const authorize = createAuthorize({
    authenticator: options.authenticator,
    agentAuthRequired: options.agentAuthRequired,
    cors,
    failedCredentials: options.failedCredentials,
    audit: options.audit,
  });
  const router = new PathRouter<[never, never]>();
  const app = new Hono<HttpHono>({ router: router as never, getPath: pathOf });
  const pipeline: Pipeline = {
    options,
    cors,
    authorize,
    accessLog: new AccessLog(options.logger, options.metrics, options.loggedHeaders),
    neverAborts: new AbortController().signal,
  };

  const routes = [...options.routes, ...documentRoutes(options.documents), ...docsRoutes(options.documents)];
  for (const route of routes) {
    const handler = createRouteHandler(route, pipeline);
    for (const path of [route.spec.path, ...aliasesOf(route.spec.path, options.aliases)]) {
      app.on(route.spec.method.toUpperCase(), routerPath(path), handler);
    }
  }

  const finishUnmatched = pipeline.accessLog.forRoute("unmatched");
  app.notFound(async (c) => {
    const startedMs = performance.now();
    const requestId = requestIdOf(c.req.raw.headers.get("x-request-id"));
    const place = { requestId, method: c.req.method, route: "unmatched", logger: options.logger };
    const allowed = withImplied(router.methodsAt(c.req.path));
    const misdirected = options.elsewhere?.(c.req.method, c.req.path) ?? null;
    const page = allowed.length === 0 && isVisit(c.req.raw) ? options.nowherePage : undefined;
    const response =
      page && misdirected === null
        ? await page()
        : errorResponse(misdirected ?? unmatched(c, allowed), place);
    const { status } = response;
    const { headers } = c.req.raw;
    finishUnmatched({ ...place, workspaceId: undefined, status, startedMs, headers }, c.env);
    return decorate(response, c.req.raw.headers, requestId, cors, false);
  });
  app.onError((error, c) => {
    const requestId = requestIdOf(c.req.raw.headers.get("x-request-id"));
    const place = { requestId, method: c.req.method, route: c.req.path, logger: options.logger };
    return decorate(errorResponse(error, place), c.req.raw.headers, requestId, cors, false);
  });

  return {
    app,
    authorize,
    raw: (route) => createRawExchanges(pipeline, route),
    fetch(request, env) {
      if (request.method !== "OPTIONS") return app.fetch(request, env ?? {});
      const { headers } = request;
      const requestId = requestIdOf(headers.get("x-request-id"));
      if (headers.has("origin") && headers.has("access-control-request-method")) {
        return decorate(cors.preflight(request), null, requestId, cors, true);
      }
      const allowed = withImplied(router.methodsAt(pathOf(request)));
      if (allowed.length === 0) return app.fetch(request, env ?? {});
      const response = new Response(null, { status: 204, headers: { allow: allowed.join(", ") } });
      return decorate(response, headers, requestId, cors, true);
    },
  };
}

/** The path as it was sent: a parameter is decoded once, after the path was cut into segments. */
function pathOf(request: Request): string {
  const { url } = request;
  const start = url.indexOf("/", url.indexOf(":") + 4);
  if (start === -1) return "/";
  for (let index = start; index < url.length; index++) {
    const code = url.charCodeAt(index);
    if (code === 63 || code === 35) return url.slice(start, index);
  }
  return url.slice(start);
}

function aliasesOf(path: string, aliases: Record<string, string[]> = {}): string[] {
  return Object.entries(aliases).flatMap(([prefix, roots]) =>
    roots.some((root) => path === root || path.startsWith(`${root}/`)) ? [`${prefix}${path}`] : [],
  );
}

/** A browser that goes to an address asks for a page by name; programs and scripts do not. */
function isVisit({ method, headers }: Request): boolean {
  return (method === "GET" || method === "HEAD") && (headers.get("accept") ?? "").includes("text/html");
}

function withImplied(methods: string[]): string[] {
  if (methods.length === 0) return [];
  return [...methods, ...(methods.includes("GET") ? ["HEAD"] : []), "OPTIONS"].sort();
}

function unmatched(c: Context, allowed: string[]): AppError {
  if (allowed.length === 0) {
    return new AppError({
      code: "request.unknown_path",
      kind: "not_found",
      message: "There is nothing at this path. /docs lists the endpoints.",
    });
  }
  return new AppError({
    code: "request.method_not_allowed",
    kind: "method_not_allowed",
    message: `This path does not accept ${c.req.method.slice(0, 20)}. It accepts ${allowed.join(", ")}.`,
    headers: { allow: allowed.join(", ") },
  });
}
