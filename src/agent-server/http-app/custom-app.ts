import { errorMessage } from "../../platform/errors.ts";
import type { Logger } from "../../platform/logger.ts";
import type { HttpApp } from "../graphs/project-app.ts";
import { type HonoContext, type HonoLike, isHono } from "./guarded-hono.ts";

type Fetch<Env> = (request: Request, env?: Env) => Response | Promise<Response>;

export type CustomAppOptions<Env> = {
  custom: HttpApp;
  own: Fetch<Env>;
  logger: Logger;
};

/**
 * The project's own HTTP application in front of the server: its routes win for their paths, its middleware sees
 * every request, and what it has no route for is the server's.
 */
export function withCustomApp<Env>(options: CustomAppOptions<Env>): Fetch<Env> {
  const { custom, own, logger } = options;
  const call = isHono(custom) ? throughHono(custom, own) : throughFetch(custom, own);
  return async (request, env) => {
    try {
      return await call(request, env);
    } catch (error) {
      logger.error(
        { err: error, path: new URL(request.url).pathname },
        "the project's HTTP application failed",
      );
      return Response.json(
        { detail: `The project's own HTTP application failed: ${errorMessage(error)}` },
        { status: 500 },
      );
    }
  };
}

function throughHono<Env>(custom: HonoLike, own: Fetch<Env>): Fetch<Env> {
  custom.notFound(async ({ req, env }) => own(await untouched(req), env as Env));
  return (request, env) => custom.fetch(request, env ?? {});
}

/** A middleware may have read the body, which can be had only once; the framework keeps what it read. */
async function untouched(req: HonoContext["req"]): Promise<Request> {
  if (!req.raw.bodyUsed) return req.raw;
  return new Request(req.raw.url, {
    method: req.raw.method,
    headers: req.raw.headers,
    body: await req.arrayBuffer(),
    signal: req.raw.signal,
  });
}

/** Any other object with `fetch`: it answers 404 to what is not its own. */
function throughFetch<Env>(custom: HttpApp, own: Fetch<Env>): Fetch<Env> {
  return async (request, env) => {
    if (custom.serves?.(request) === false) return own(request, env);
    if (custom.passesOn) return custom.fetch(request, env);
    const response = await custom.fetch(request.body === null ? request : request.clone(), env);
    if (response.status !== 404) return response;
    await response.body?.cancel();
    return own(request, env);
  };
}
