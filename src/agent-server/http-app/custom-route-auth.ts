import type { Authorize } from "../../platform/http/access.ts";
import { errorResponse } from "../../platform/http/error-response.ts";
import { requestIdOf } from "../../platform/http/request-id.ts";
import type { Logger } from "../../platform/logger.ts";
import type { ProjectFile } from "../graphs/project-config.ts";

type Fetch<Env> = (request: Request, env?: Env) => Response | Promise<Response>;

/** What must answer without a credential: probes, and clients that ask what they are talking to. */
const openPaths = new Set(["/ok", "/info", "/metrics", "/docs", "/openapi.json"]);

/** Those of the server itself; what else there is belongs to the project. */
const serverPaths = /^\/(assistants|threads|runs|store|mcp|a2a|ui|internal)(\/|$)/;

/**
 * Which paths ask for a credential before the project's application, its middleware included, sees a request; undefined
 * for none. The server's own routes ask in any case, but later.
 */
export function guardedPaths(
  http:
    | Pick<NonNullable<ProjectFile["http"]>, "enable_custom_route_auth" | "middleware_order">
    | null
    | undefined,
): ((path: string) => boolean) | undefined {
  // A credential has to come before the project's routes, and those cannot be told from its middleware.
  if (http?.enable_custom_route_auth) return (path) => !openPaths.has(path);
  if (http?.middleware_order === "auth_first") return (path) => serverPaths.test(path);
  return undefined;
}

export type BehindAuthOptions = { authorize: Authorize; logger: Logger; guarded(path: string): boolean };

/** Asks for the caller's credential before the project's application sees a request. */
export function behindAuth<Env>(
  fetch: Fetch<Env>,
  { authorize, logger, guarded }: BehindAuthOptions,
): Fetch<Env> {
  return async (request, env) => {
    const { pathname, host } = new URL(request.url);
    // A browser asks what it may send before it sends a credential.
    if (!guarded(pathname) || request.method === "OPTIONS") return fetch(request, env);
    try {
      await authorize({ kind: "agent", role: "viewer" }, request.headers, host, request);
    } catch (error) {
      const requestId = requestIdOf(request.headers.get("x-request-id"));
      return errorResponse(error, { requestId, method: request.method, route: "(custom)", logger });
    }
    return fetch(request, env);
  };
}
