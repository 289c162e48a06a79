import { errorResponse } from "../../platform/http/error-response.ts";
import type { Authorize } from "../../platform/http/pipeline/authorize.ts";
import { requestIdOf } from "../../platform/http/server/request-id.ts";
import type { Logger } from "../../platform/logger.ts";
import type { ProjectFile } from "../graphs/project-config.ts";
import { type CustomAppOptions, withCustomApp } from "./custom-app.ts";
import { guardHonoRoutes, isHono, type Refusal } from "./guarded-hono.ts";

type Fetch<Env> = (request: Request, env?: Env) => Response | Promise<Response>;

/** What must answer without a credential: probes, and clients that ask what they are talking to. */
const openPaths = new Set(["/ok", "/info", "/metrics", "/docs", "/openapi.json"]);

/** Those of the server itself; what else there is belongs to the project. */
const serverPaths = /^\/(assistants|threads|runs|store|mcp|a2a|ui)(\/|$)/;

type HttpSettings = Pick<NonNullable<ProjectFile["http"]>, "enable_custom_route_auth" | "middleware_order">;

/** Which paths ask for a credential before the project's application, its middleware included, sees a request. */
function guardedPaths(http: HttpSettings): ((path: string) => boolean) | undefined {
  if (http.enable_custom_route_auth) return (path) => !openPaths.has(path);
  if (http.middleware_order === "auth_first") return (path) => serverPaths.test(path);
  return undefined;
}

export type ProjectAppOptions<Env> = CustomAppOptions<Env> & {
  http: HttpSettings | null | undefined;
  authorize: Authorize;
};

/**
 * The project's application in front of the server, and the question for a credential where the project file wants it.
 * The server's own routes ask in any case, but later.
 */
export function withProjectApp<Env>(options: ProjectAppOptions<Env>): Fetch<Env> {
  const { custom, own, http, authorize, logger } = options;
  const refusal = createRefusal(authorize, logger);
  const guarded = guardedPaths(http ?? {});
  if (guarded && http?.middleware_order === "middleware_first") {
    const ask: Refusal = async (request) => (isAsked(request, guarded) ? refusal(request) : undefined);
    const app = isHono(custom) ? guardHonoRoutes(custom, ask) : undefined;
    if (app) return withCustomApp({ custom: app, own, logger });
    logger.warn(
      "http.app is not a Hono application, or of a version unknown to the server, so its middleware cannot be distinguished from its routes: with http.enable_custom_route_auth both need a credential, whatever http.middleware_order is",
    );
  }
  const mixed = withCustomApp({ custom, own, logger });
  if (!guarded) return mixed;
  return async (request, env) => {
    const refused = isAsked(request, guarded) ? await refusal(request) : undefined;
    return refused ?? mixed(request, env);
  };
}

function isAsked(request: Request, guarded: (path: string) => boolean): boolean {
  // A browser asks what it may send before it sends a credential.
  return request.method !== "OPTIONS" && guarded(new URL(request.url).pathname);
}

function createRefusal(authorize: Authorize, logger: Logger): Refusal {
  return async (request) => {
    try {
      const { host } = new URL(request.url);
      await authorize(
        { kind: "agent", role: "viewer", scope: ["read", "runs"] },
        request.headers,
        host,
        request,
      );
      return undefined;
    } catch (error) {
      const requestId = requestIdOf(request.headers.get("x-request-id"));
      return errorResponse(error, { requestId, method: request.method, route: "(custom)", logger });
    }
  };
}
