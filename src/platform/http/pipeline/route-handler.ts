import type { ServerResponse } from "node:http";
import type { Context } from "hono";
import { AppError } from "../../errors.ts";
import type { Caller } from "../access/caller.ts";
import { carriesKey } from "../access/carried-key.ts";
import { errorResponse } from "../error-response.ts";
import { askerOf, runOnce } from "../idempotency/idempotency.ts";
import type { Route, RouteRequest, RouteSpec } from "../route.ts";
import { requestIdOf } from "../server/request-id.ts";
import type { StreamConnection } from "../server/sse.ts";
import {
  checkDeclaredLength,
  defaultMaxBodyBytes,
  limitRawBody,
  parseJson,
  readBytes,
  requireJsonType,
} from "../validation/body.ts";
import { listNamesOf, queryOf } from "../validation/query.ts";
import { unprocessable, validate } from "../validation/validation.ts";
import { auditedAnswer } from "./audited-answer.ts";
import { decorate } from "./decorate-response.ts";
import { restName } from "./path-router.ts";
import type { HttpHono, Pipeline } from "./pipeline.ts";
import { checkResponse } from "./response-check.ts";

type HonoHandler = (c: Context<HttpHono>) => Promise<Response>;

/** One route's whole way, with everything that does not depend on the request worked out beforehand. */
export function createRouteHandler(route: Route, pipeline: Pipeline): HonoHandler {
  const { spec } = route;
  const { authorize, cors, options } = pipeline;
  const { logger, validateResponses, idempotency, isKeyed = carriesKey } = options;
  if (spec.idempotent && spec.rawBody) {
    throw new Error(`${spec.operationId}: a route that reads its own body cannot be idempotent`);
  }
  const readParams = paramsReader(spec);
  const readQuery = queryReader(spec);
  const readBody = bodyReader(spec);
  const onlyReads = spec.access.kind !== "open" && spec.access.role === "viewer";
  const finish = pipeline.accessLog.forRoute(spec.path, onlyReads);
  const isPublic = spec.access.kind === "open";
  const keepsAnswers = spec.idempotent === true && idempotency !== undefined;

  const checked = validateResponses
    ? async (request: RouteRequest<RouteSpec>) => {
        const response = await route.handle(request);
        await checkResponse(spec, response);
        return response;
      }
    : route.handle;
  const answer = auditedAnswer(spec, checked, options.audit);

  return async (c) => {
    const startedMs = performance.now();
    const { raw } = c.req;
    const { headers, method } = raw;
    const requestId = requestIdOf(headers.get("x-request-id"));
    if (c.env.inFlight) c.env.inFlight.route = spec.path;
    const shutdown = c.env.shutdown ?? pipeline.neverAborts;
    const remoteAddress = c.env.incoming?.socket.remoteAddress;
    let caller: Caller | null = null;
    let response: Response;
    try {
      checkPath(c.req.path);
      if (!isPublic) {
        caller = await authorize(spec.access, headers, hostOf(raw.url), raw, remoteAddress, requestId);
      }
      const params = readParams(c);
      const query = readQuery(raw.url);
      const keyed = isKeyed(headers);
      const { body, bytes } = await readBody(c, keyed);
      const request = {
        params,
        query,
        body,
        caller,
        keyed,
        // Not `raw`: a limit on the body has put another in its place.
        request: c.req.raw,
        requestId,
        remoteAddress,
        connection: connectionOf(shutdown, c.env.outgoing),
        shutdown,
        audit: {},
      } as unknown as RouteRequest<RouteSpec>;
      const key = keepsAnswers ? headers.get("idempotency-key") : null;
      if (key === null || caller === null) response = await answer(request);
      else {
        const target = raw.url.slice(raw.url.indexOf("/", 8));
        const { workspaceId } = caller;
        const once = {
          workspaceId,
          asker: askerOf(caller),
          operation: spec.operationId,
          key,
          target,
          bytes,
        };
        response = await runOnce(idempotency!, once, logger, async () => {
          try {
            return await answer(request);
          } catch (error) {
            return errorResponse(error, { requestId, method, route: spec.path, logger });
          }
        });
      }
    } catch (error) {
      response = errorResponse(error, { requestId, method, route: spec.path, logger });
    }
    finish(
      {
        method,
        route: spec.path,
        requestId,
        workspaceId: caller?.workspaceId,
        status: response.status,
        startedMs,
        headers,
      },
      c.env,
    );
    // Hono drops the body of a HEAD answer; a stream behind it must be cancelled.
    if (method === "HEAD") await response.body?.cancel();
    return decorate(response, headers, requestId, cors, isPublic);
  };
}

function hostOf(url: string): string {
  const start = url.indexOf("://") + 3;
  const end = url.indexOf("/", start);
  return url.slice(start, end === -1 ? undefined : end);
}

/** A path must be well-encoded UTF-8 without NUL: anything else can name nothing we hold. */
function checkPath(path: string): void {
  if (!path.includes("%")) return;
  try {
    if (!decodeURIComponent(path).includes("\0")) return;
  } catch {
    // Falls through to the refusal.
  }
  throw new AppError({
    code: "request.path_encoding",
    kind: "invalid",
    message: "The path has a percent-encoding that is not valid UTF-8 text. Encode it again.",
  });
}

function paramsReader(spec: RouteSpec): (c: Context) => unknown {
  const { params: schema } = spec;
  if (!schema) return () => undefined;
  const rest = restName(spec.path);
  return (c) => {
    const params = c.req.param() as Record<string, string>;
    if (rest === undefined) return validate(schema, params, "path");
    const { "*": remainder, ...named } = params;
    return validate(schema, { ...named, [rest]: remainder }, "path");
  };
}

function queryReader(spec: RouteSpec): (url: string) => unknown {
  const { query: schema } = spec;
  if (!schema) return () => undefined;
  const listNames = listNamesOf(schema);
  return (url) => {
    const query = queryOf(url, listNames);
    for (const name in query) {
      if (String(query[name]).includes("\0")) {
        throw unprocessable([
          { loc: ["query", name], msg: "A NUL character is not permitted", type: "value_error" },
        ]);
      }
    }
    return validate(schema, query, "query");
  };
}

type ReadBody = { body: unknown; bytes: Uint8Array };
const noBody: ReadBody = { body: undefined, bytes: new Uint8Array() };

function bodyReader(spec: RouteSpec): (c: Context, keyed: boolean) => ReadBody | Promise<ReadBody> {
  const { body: schema, rawBody } = spec;
  const maxBytes = spec.maxBodyBytes ?? defaultMaxBodyBytes;
  if (rawBody) {
    return (c) => {
      c.req.raw = limitRawBody(c.req.raw, maxBytes);
      return noBody;
    };
  }
  if (!schema) {
    return (c) => {
      checkDeclaredLength(c.req.raw.headers, maxBytes);
      return noBody;
    };
  }
  return async (c, keyed) => {
    const bytes = await readBytes(c.req.raw, maxBytes);
    // A type without a body has no meaning.
    if (bytes.byteLength > 0) requireJsonType(c.req.raw.headers.get("content-type"), keyed);
    const value = parseJson(bytes);
    if (value !== undefined) return { body: validate(schema, value, "body"), bytes };
    const empty = schema.safeParse({});
    if (empty.success) return { body: empty.data, bytes };
    if (empty.error.issues.some((issue) => issue.path.length === 0)) {
      throw unprocessable([{ loc: ["body"], msg: "Field required", type: "missing" }]);
    }
    return { body: validate(schema, {}, "body"), bytes };
  };
}

function connectionOf(signal: AbortSignal, outgoing: ServerResponse | undefined): StreamConnection {
  return outgoing ? { signal, cut: () => outgoing.destroy() } : { signal };
}
