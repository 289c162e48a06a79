import type { z } from "zod";
import type { Caller, Role } from "./access/caller.ts";
import type { ScopeNeed } from "./access/scope.ts";
import type { AuditNote, AuditSpec } from "./audit/audit.ts";
import type { StreamConnection } from "./server/sse.ts";

/**
 * Who may call a route.
 * - `open`: anybody. Every such route is named in the security suite's list.
 * - `workspace`: a credential of at least this role and one of these scopes, always.
 * - `agent`: the same, but open to loopback callers while the server listens on loopback only.
 */
export type Access = { kind: "open" } | ({ kind: "workspace" | "agent" } & Demand);

/** What a credential must have. */
export type Demand = {
  role: Role;
  /** Several: any one of them. `admin` covers all. A caller that needs `accounts` must also be the person whose they are. */
  scope: ScopeNeed;
  /** Only a key that names the scope itself will do: no session, and none that may do everything. */
  namedByKey?: true;
  /**
   * The route keeps a credential that is limited to one tracing project to that project. Everywhere else such a
   * credential is refused.
   */
  checksTracingProject?: true;
  /** The gateway: lets a token of one deployment pass, and looks at whose it is. */
  gateway?: true;
};

export type ResponseSpec = {
  description: string;
  /** JSON body. In tests every response is parsed with it. */
  schema?: z.ZodType;
  /** For bodies that are not JSON, for example `text/event-stream`. */
  contentType?: string;
};

export type RouteSpec = {
  method: "get" | "post" | "put" | "patch" | "delete";
  /** OpenAPI form: `/v2/deployments/{deployment_id}`. `{rest*}` matches the remainder, also an empty one; `params.rest`. */
  path: `/${string}`;
  operationId: string;
  summary: string;
  description?: string;
  tag: string;
  access: Access;
  /** What the audit log records of it. */
  audit?: AuditSpec | readonly AuditSpec[];
  params?: z.ZodType;
  query?: z.ZodType;
  /** JSON body. A missing body is read as `{}` when the schema accepts that. */
  body?: z.ZodType;
  /** The handler reads the request itself (streams, multipart); no JSON parsing, `maxBodyBytes` still holds. */
  rawBody?: boolean;
  /** Default 25 MB. */
  maxBodyBytes?: number;
  /** Honour `Idempotency-Key` (POSTs that create). */
  idempotent?: boolean;
  responses: Record<number, ResponseSpec>;
  /** Error statuses worth documenting besides 401, 403 and 422, which follow from the rest. */
  errors?: number[];
  /** Leave out of the OpenAPI document (pages, aliases). */
  hidden?: boolean;
};

type Parsed<Schema> = Schema extends z.ZodType ? z.output<Schema> : undefined;

export type RouteRequest<S extends RouteSpec> = {
  params: Parsed<S["params"]>;
  query: Parsed<S["query"]>;
  body: Parsed<S["body"]>;
  /** Null only on open routes. */
  caller: S["access"]["kind"] extends "open" ? null : Caller;
  /** It brings a key, which no page of another site can do unasked: JSON may come under any content type. */
  keyed: boolean;
  /** As it came; its body only where the spec has `rawBody`. */
  request: Request;
  requestId: string;
  remoteAddress: string | undefined;
  /** For answers that are streams. */
  connection: StreamConnection;
  /** Aborts when the server begins to stop: long answers end themselves on it. */
  shutdown: AbortSignal;
  /** What an open route has found out about its caller, for the audit log. */
  audit: { note?: AuditNote };
};

export type Route = {
  spec: RouteSpec;
  handle(request: RouteRequest<RouteSpec>): Response | Promise<Response>;
};

/** Ties a handler to its contract; the types of params, query and body come from the schemas. */
export function route<const S extends RouteSpec>(
  spec: S,
  handle: (request: RouteRequest<S>) => Response | Promise<Response>,
): Route {
  return { spec, handle: handle as unknown as Route["handle"] };
}

const jsonHeaders = { "content-type": "application/json" };

export function json(status: number, body: unknown, headers?: Record<string, string>): Response {
  return new Response(JSON.stringify(body), {
    status,
    headers: headers ? { ...jsonHeaders, ...headers } : jsonHeaders,
  });
}

/** `json` for a body that is JSON text already. */
export function jsonText(status: number, text: string | Uint8Array<ArrayBuffer>): Response {
  return new Response(text, { status, headers: jsonHeaders });
}

export function noContent(headers?: Record<string, string>): Response {
  return new Response(null, headers ? { status: 204, headers } : { status: 204 });
}
