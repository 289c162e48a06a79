import { neededScopes } from "../access/scope.ts";
import type { ResponseSpec, Route, RouteSpec } from "../route.ts";
import { type JsonSchema, SchemaCollector } from "./openapi-schemas.ts";

export type OpenApiOptions = {
  title: string;
  version: string;
  description: string;
  routes: Route[];
  servers?: { url: string; description?: string }[];
  securitySchemes?: Record<string, JsonSchema>;
};

/** A document and where it is served. */
export type ApiDocument = OpenApiOptions & { path: `/${string}` };

export const securitySchemes: Record<string, JsonSchema> = {
  "API Key": { type: "apiKey", in: "header", name: "X-Api-Key", description: "An API key." },
  "Tenant ID": { type: "apiKey", in: "header", name: "X-Tenant-Id", description: "The workspace to use." },
  "Bearer Auth": { type: "http", scheme: "bearer", description: "An API key or a session token." },
};

/** Pure: the same routes always give the same document, in the same order. */
export function buildOpenApi(options: OpenApiOptions): JsonSchema {
  const schemes = options.securitySchemes ?? securitySchemes;
  const schemas = new SchemaCollector();
  const specs = options.routes
    .map((route) => route.spec)
    .filter((spec) => !spec.hidden)
    .toSorted((a, b) => compare(a.path, b.path) || compare(a.method, b.method));
  const paths: Record<string, JsonSchema> = {};
  for (const spec of specs) {
    const path = spec.path.replace(/\{([\w.-]+)\*\}/g, "{$1}");
    paths[path] ??= {};
    paths[path][spec.method] = operation(spec, schemas, Object.keys(schemes));
  }
  const document = schemas.finish({
    openapi: "3.1.0",
    info: { title: options.title, version: options.version, description: options.description },
    ...(options.servers ? { servers: options.servers } : {}),
    tags: [...new Set(specs.map((spec) => spec.tag))].sort().map((name) => ({ name })),
    paths,
  });
  const components = { ...(document.components as JsonSchema), securitySchemes: schemes };
  return { ...document, components };
}

function operation(spec: RouteSpec, schemas: SchemaCollector, schemeNames: string[]): JsonSchema {
  const parameters = [
    ...pathParameters(spec, schemas),
    ...queryParameters(spec, schemas),
    ...keyParameter(spec),
  ];
  return {
    operationId: spec.operationId,
    summary: spec.summary,
    ...(spec.description ? { description: spec.description } : {}),
    tags: [spec.tag],
    ...(parameters.length > 0 ? { parameters } : {}),
    ...requestBody(spec, schemas),
    responses: { ...successes(spec, schemas), ...failures(spec) },
    security: security(spec, schemeNames),
    ...demanded(spec),
  };
}

/** OpenAPI has no scopes for API keys, so they are an extension of ours: any one of the list is enough. */
function demanded({ access }: RouteSpec): JsonSchema {
  if (access.kind === "open") return {};
  return { "x-required-role": access.role, "x-required-scope": neededScopes(access.scope) };
}

/** One entry per scheme; `{}` means that a caller on the same machine may come without. */
function security(spec: RouteSpec, schemeNames: string[]): JsonSchema[] {
  if (spec.access.kind === "open") return [];
  const entries: JsonSchema[] = schemeNames.map((name) => ({ [name]: [] }));
  return spec.access.kind === "agent" ? [...entries, {}] : entries;
}

function pathParameters(spec: RouteSpec, schemas: SchemaCollector): JsonSchema[] {
  const properties = spec.params ? schemas.properties(spec.params).properties : {};
  return [...spec.path.matchAll(/\{([\w.-]+)\*?\}/g)].map(([, name]) => {
    const schema = properties[name!] ?? { type: "string" };
    return { name, in: "path", required: true, ...described(schema) };
  });
}

function queryParameters(spec: RouteSpec, schemas: SchemaCollector): JsonSchema[] {
  if (!spec.query) return [];
  const { properties, required } = schemas.properties(spec.query);
  return Object.entries(properties).map(([name, schema]) => ({
    name,
    in: "query",
    required: required.has(name),
    ...described(schema),
  }));
}

function described(schema: JsonSchema): JsonSchema {
  const { description, ...rest } = schema;
  return description ? { description, schema: rest } : { schema: rest };
}

function keyParameter(spec: RouteSpec): JsonSchema[] {
  if (!spec.idempotent) return [];
  return [
    {
      name: "Idempotency-Key",
      in: "header",
      required: false,
      description:
        "A repeated request with the same key and body gets the first response again, for 24 hours.",
      schema: { type: "string", maxLength: 255 },
    },
  ];
}

function requestBody(spec: RouteSpec, schemas: SchemaCollector): JsonSchema {
  if (spec.body) {
    const required = !spec.body.safeParse({}).success;
    return {
      requestBody: { required, content: { "application/json": { schema: schemas.input(spec.body) } } },
    };
  }
  if (!spec.rawBody || spec.method === "get") return {};
  return { requestBody: { content: { "application/octet-stream": { schema: {} } } } };
}

function successes(spec: RouteSpec, schemas: SchemaCollector): Record<string, JsonSchema> {
  return Object.fromEntries(
    Object.entries(spec.responses).map(([status, response]) => [
      status,
      { description: response.description, ...responseContent(response, schemas) },
    ]),
  );
}

function responseContent(response: ResponseSpec, schemas: SchemaCollector): JsonSchema {
  if (response.contentType && !response.schema) {
    return { content: { [response.contentType]: { schema: { type: "string" } } } };
  }
  if (!response.schema) return {};
  return {
    content: { [response.contentType ?? "application/json"]: { schema: schemas.output(response.schema) } },
  };
}

function failures(spec: RouteSpec): Record<string, JsonSchema> {
  const statuses = new Set(spec.errors ?? []);
  if (spec.access.kind !== "open") for (const status of [401, 403]) statuses.add(status);
  if (spec.params || spec.query || spec.body) statuses.add(422);
  const documented = new Set(Object.keys(spec.responses));
  return Object.fromEntries(
    [...statuses]
      .filter((status) => !documented.has(String(status)))
      .sort((a, b) => a - b)
      .map((status) => [
        status,
        {
          description: failureWords[status] ?? "Error",
          content: {
            "application/json": { schema: { $ref: `#/components/schemas/${failureShape(status)}` } },
          },
        },
      ]),
  );
}

const failureShape = (status: number) => (status === 422 ? "HTTPValidationError" : "ErrorDetail");

const failureWords: Record<number, string> = {
  400: "The request is not valid",
  401: "No valid credential",
  403: "The credential does not permit this",
  404: "Not found",
  409: "Conflicts with the current state",
  413: "The body is too large",
  415: "The body has an unsupported type",
  422: "Validation Error",
  429: "Too many requests",
  500: "Internal error",
  502: "A service behind this one failed",
  503: "Not available at the moment",
  507: "The storage is full; send it again later",
};

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
