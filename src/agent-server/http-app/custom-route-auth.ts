import type { Authorize } from "../../platform/http/access.ts";
import { errorResponse } from "../../platform/http/error-response.ts";
import { requestIdOf } from "../../platform/http/request-id.ts";
import type { Logger } from "../../platform/logger.ts";

type Fetch<Env> = (request: Request, env?: Env) => Response | Promise<Response>;

/** What must answer without a credential: probes, and clients that ask what they are talking to. */
const openPaths = new Set(["/ok", "/info", "/metrics", "/docs", "/openapi.json"]);

/** Asks for the caller's credential before the project's own routes see a request. */
export function behindAuth<Env>(
  fetch: Fetch<Env>,
  { authorize, logger }: { authorize: Authorize; logger: Logger },
): Fetch<Env> {
  return async (request, env) => {
    const { pathname, host } = new URL(request.url);
    // A browser asks what it may send before it sends a credential.
    if (openPaths.has(pathname) || request.method === "OPTIONS") return fetch(request, env);
    try {
      await authorize({ kind: "agent", role: "viewer" }, request.headers, host, request);
    } catch (error) {
      const requestId = requestIdOf(request.headers.get("x-request-id"));
      return errorResponse(error, { requestId, method: request.method, route: "(custom)", logger });
    }
    return fetch(request, env);
  };
}
