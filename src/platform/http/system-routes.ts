import { z } from "zod";
import type { Database } from "../db/database.ts";
import { AppError } from "../errors.ts";
import type { Metrics } from "../metrics.ts";
import { probeRoutes, type Readiness } from "./probe-routes.ts";
import { json, type Route, route } from "./route.ts";

const ok = z.object({ ok: z.literal(true) }).meta({ id: "Ok" });
const info = z
  .object({
    version: z.string(),
    langgraph_js_version: z.string().optional().meta({ description: "Where graphs are JavaScript." }),
    langgraph_py_version: z.string().optional().meta({ description: "Where graphs are Python." }),
    context: z.literal("js").optional(),
    flags: z.record(z.string(), z.boolean()),
    metadata: z.record(z.string(), z.unknown()),
  })
  .meta({ id: "ServerInfo" });

/** Versions of the graph library, for each language there is. */
type GraphLibrary = { javascript?: string | undefined; python?: string | undefined };

export type SystemRoutesOptions = {
  database: Pick<Database, "ping">;
  metrics: Metrics;
  info: { version: string; graphLibrary: GraphLibrary; flags: Record<string, boolean> };
  /** More facts, for `metadata` of `/info`. */
  metadata?: () => Promise<Record<string, unknown>>;
  /** With it there are probes at /health and /ready; a project's own application may have those paths. */
  readiness?: Readiness;
  /** Another handler answers at `/`; otherwise it redirects to the reference. */
  hasRootPage?: boolean;
};

const tag = "System";
const access = { kind: "open" } as const;
/** A database that answers this slowly cannot serve anybody. */
const pingTimeoutMs = 3_000;

/** Health, facts and metrics of this server; the first thing clients and probes ask for. */
export function systemRoutes({
  database,
  metrics,
  info: facts,
  metadata,
  readiness,
  hasRootPage,
}: SystemRoutesOptions): Route[] {
  return [
    ...(readiness ? probeRoutes(readiness, () => checkDatabase(database)) : []),
    ...(hasRootPage ? [] : [rootRoute()]),
    route(
      {
        method: "get",
        path: "/ok",
        operationId: "getHealth",
        summary: "Whether the server and its database respond",
        tag,
        access,
        query: z.object({ check_db: z.enum(["0", "1"]).optional() }),
        responses: { 200: { description: "Healthy.", schema: ok } },
        errors: [503],
      },
      async ({ query }) => {
        if (query.check_db !== "0") await checkDatabase(database);
        return json(200, { ok: true });
      },
    ),
    route(
      {
        method: "get",
        path: "/info",
        operationId: "getInfo",
        summary: "Version and features of the server",
        tag,
        access,
        responses: { 200: { description: "Facts.", schema: info } },
      },
      async () =>
        json(200, {
          version: facts.version,
          ...libraryFacts(facts.graphLibrary),
          flags: facts.flags,
          metadata: (await metadata?.()) ?? {},
        }),
    ),
    route(
      {
        method: "get",
        path: "/metrics",
        operationId: "getMetrics",
        summary: "Metrics for Prometheus",
        tag,
        // Scrapers beyond loopback send a viewer's key as a bearer token.
        access: { kind: "agent", role: "viewer", scope: "read" },
        query: z.object({ format: z.enum(["prometheus", "json"]).default("prometheus") }),
        responses: { 200: { description: "Metrics.", contentType: "text/plain" } },
      },
      async ({ query }) => {
        const { contentType, body } = await metrics.render(query.format);
        return new Response(body, { headers: { "content-type": contentType } });
      },
    ),
  ];
}

function rootRoute(): Route {
  return route(
    {
      method: "get",
      path: "/",
      operationId: "getRoot",
      summary: "Redirect to the API reference",
      tag,
      access,
      hidden: true,
      responses: { 302: { description: "To /docs." } },
    },
    () => new Response(null, { status: 302, headers: { location: "/docs" } }),
  );
}

async function checkDatabase(database: Pick<Database, "ping">): Promise<void> {
  const { promise: late, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(() => reject(unreachable()), pingTimeoutMs);
  try {
    await Promise.race([database.ping(), late]);
  } catch (error) {
    throw error instanceof AppError && error.kind === "insufficient_storage" ? unwell(error) : error;
  } finally {
    clearTimeout(timer);
  }
}

/** Health checks understand one status for "not now". */
function unwell(error: AppError): AppError {
  return new AppError({ code: "database.full", kind: "unavailable", message: error.message, cause: error });
}

function unreachable(): AppError {
  return new AppError({
    code: "database.unavailable",
    kind: "unavailable",
    message: "The database does not respond. The service continues by itself when it is back.",
  });
}

function libraryFacts({ javascript, python }: GraphLibrary) {
  return {
    ...(javascript === undefined ? {} : { langgraph_js_version: javascript, context: "js" as const }),
    ...(python === undefined ? {} : { langgraph_py_version: python }),
  };
}
