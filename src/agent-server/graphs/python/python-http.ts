import { AppError } from "../../../platform/errors.ts";
import type { HttpApp } from "../project-app.ts";
import { routeMatcher } from "./app-routes.ts";
import { responseOf, sendBody } from "./http-body.ts";
import type { AppRoute } from "./load-report.ts";
import type { PythonPool } from "./python-pool.ts";
import type { Upstream } from "./upstream.ts";

type Description = { routes: AppRoute[]; hasMiddleware: boolean };
type Env = { projectOnly?: boolean };

/** The project's ASGI application. Where it has no middleware, only requests for its routes go to Python. */
export class PythonHttp implements HttpApp {
  readonly #pool: PythonPool;
  readonly #upstream: Upstream;
  readonly #matches: ((path: string) => boolean) | undefined;
  readonly passesOn: boolean;

  constructor(pool: PythonPool, upstream: Upstream, { routes, hasMiddleware }: Description) {
    this.#pool = pool;
    this.#upstream = upstream;
    this.#matches = hasMiddleware ? undefined : routeMatcher(routes);
    // An application that does not list its routes answers 404 for paths that are not its own.
    this.passesOn = !(routes.length === 1 && routes[0]!.kind === "mount" && routes[0]!.path === "/");
  }

  serves(request: Request): boolean {
    return this.#matches?.(new URL(request.url).pathname) ?? true;
  }

  async fetch(request: Request, env?: unknown): Promise<Response> {
    try {
      return await this.#fetch(request, env as Env | undefined);
    } catch (error) {
      if (!(error instanceof AppError) || error.code !== "graph.worker_lost") throw error;
      const detail = "The project's process is starting again. Try again in a moment.";
      return Response.json({ detail }, { status: 503, headers: { "retry-after": "1" } });
    }
  }

  async #fetch(request: Request, env: Env | undefined): Promise<Response> {
    const worker = await this.#pool.any();
    const { pathname, search, protocol } = new URL(request.url);
    const stream = worker.open("http", {
      httpMethod: request.method,
      path: decoded(pathname),
      rawPath: pathname,
      query: search.slice(1),
      headers: [...request.headers],
      scheme: protocol.slice(0, -1),
    });
    if (env?.projectOnly) this.#upstream.refuse(stream.call);
    const stop = () => stream.cancel();
    request.signal.addEventListener("abort", stop, { once: true });
    // Beside the answer, which may begin before the body has ended.
    void sendBody(stream, request.body)
      .then(() => stream.end())
      .catch(stop);
    const items = stream.items();
    const head = await items.next();
    if (head.done) throw new Error("The application ended without a response.");
    return responseOf(head.value, items, stop);
  }
}

function decoded(path: string): string {
  try {
    return decodeURIComponent(path);
  } catch {
    return path;
  }
}
