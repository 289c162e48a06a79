import type { HttpApp } from "../graphs/project-app.ts";

/** As much of a Hono application as is needed to put it in front of ours. */
export type HonoLike = HttpApp & {
  notFound(handler: (context: HonoContext) => Response | Promise<Response>): unknown;
  routes: HonoRoute[];
};

export type HonoContext = {
  req: { raw: Request; arrayBuffer(): Promise<ArrayBuffer> };
  env: unknown;
};

type HonoHandler = ((context: HonoContext, next: () => Promise<void>) => unknown) & {
  /** What the framework wrapped, in an application with an error handler of its own that is part of another. */
  __COMPOSED_HANDLER?: HonoHandler;
};
type HonoRoute = { method: string; path: string; handler: HonoHandler };

type WholeHono = HonoLike & {
  getPath: unknown;
  errorHandler: unknown;
  route(path: string, app: { routes: HonoRoute[]; errorHandler: unknown }): unknown;
  onError(handler: unknown): unknown;
  mount?(path: string, application: () => Response): unknown;
};

/** Undefined admits the request. */
export type Refusal = (request: Request) => Promise<Response | undefined>;

export function isHono(app: HttpApp): app is HonoLike {
  return (
    "notFound" in app && typeof app.notFound === "function" && "routes" in app && Array.isArray(app.routes)
  );
}

/**
 * The application with its middleware as it was and everything else behind the question for a credential, asked once a
 * request; undefined when this is not quite the framework as we know it, so that the caller can ask before all of it.
 */
export function guardHonoRoutes(app: HonoLike, refusal: Refusal): HonoLike | undefined {
  if (!isWhole(app)) return undefined;
  const Hono = app.constructor as new (options: { getPath: unknown }) => WholeHono;
  const guarded = new Hono({ getPath: app.getPath });
  if (!isWhole(guarded)) return undefined;
  const admitted = new WeakSet<HonoContext>();
  const guard =
    (handler: HonoHandler): HonoHandler =>
    async (context, next) => {
      if (!admitted.has(context)) {
        const refused = await refusal(context.req.raw);
        if (refused) return refused;
        admitted.add(context);
      }
      return handler(context, next);
    };
  const mounting = readMounting(Hono);
  if (mounting === "unreadable") return undefined;
  const routes = app.routes.map((route) =>
    isMiddleware(route, mounting.text) ? route : { ...route, handler: guard(route.handler) },
  );
  guarded.route("/", { routes, errorHandler: guarded.errorHandler });
  guarded.onError(app.errorHandler);
  return guarded;
}

function isWhole(app: HonoLike): app is WholeHono {
  const { getPath, errorHandler, route, onError } = app as Partial<WholeHono>;
  return [getPath, errorHandler, route, onError].every((part) => typeof part === "function");
}

/**
 * What sees the requests for every path and may pass them on. The framework does not distinguish `use` from `all`, so
 * what is bound to some paths counts as a route: a mistake then asks for a credential too early, never too late.
 */
function isMiddleware({ method, path, handler }: HonoRoute, mounting: string | undefined): boolean {
  if (method !== "ALL" || !/^\/?\*$/.test(path)) return false;
  let target = handler;
  while (target.__COMPOSED_HANDLER) target = target.__COMPOSED_HANDLER;
  return target.length > 1 && textOf(target) !== mounting;
}

/**
 * An application mounted at the root looks like middleware; the code that calls it is always the same, so two probes
 * show its text. A version without the method has none. Where the probes leave it open which code that is (none was
 * added, each has its own, or the text is that of every bound function), nothing may be taken for middleware.
 */
function readMounting(
  Hono: new (options: { getPath: unknown }) => WholeHono,
): { text: string | undefined } | "unreadable" {
  const probe = new Hono({ getPath: undefined });
  if (probe.mount === undefined) return { text: undefined };
  probe.mount("/", () => new Response("one"));
  probe.mount("/", () => new Response("another"));
  const [text, another] = probe.routes.map(({ handler }) => textOf(handler));
  if (text === undefined || text !== another || text.includes("[native code]")) return "unreadable";
  return { text };
}

function textOf(handler: HonoHandler): string {
  return Function.prototype.toString.call(handler).replaceAll(/\s+/g, " ");
}
