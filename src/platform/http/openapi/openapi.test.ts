import { describe, expect, it } from "vitest";
import { z } from "zod";
import { createLogger } from "../../logger.ts";
import { Metrics } from "../../metrics.ts";
import { createHttpApp } from "../pipeline/http-app.ts";
import { json, type Route, type RouteSpec } from "../route.ts";
import { type ApiDocument, buildOpenApi } from "./openapi.ts";

const Owner = z.object({ name: z.string() }).meta({ id: "Owner" });
const Thing = z
  .object({ id: z.guid(), size: z.int().default(3), owner: Owner, at: z.iso.datetime().nullable() })
  .meta({ id: "Thing" });

function spec(method: RouteSpec["method"], path: `/${string}`, more: Partial<RouteSpec> = {}): Route {
  return {
    spec: {
      method,
      path,
      operationId: `${method} ${path}`,
      summary: "s",
      tag: "things",
      access: { kind: "workspace", role: "viewer", scope: "read" },
      responses: { 200: { description: "ok" } },
      ...more,
    },
    handle: () => json(200, {}),
  };
}

const routes: Route[] = [
  spec("post", "/v2/things", {
    body: Thing,
    idempotent: true,
    responses: { 201: { description: "made", schema: Thing } },
    errors: [409],
  }),
  spec("get", "/v2/things/{thing_id}", {
    params: z.object({ thing_id: z.guid().describe("Which one") }),
    query: z.object({ limit: z.coerce.number().int().max(5).default(2), name: z.string() }),
    responses: { 200: { description: "ok", schema: z.array(Thing) } },
  }),
  spec("get", "/v2/owners/{rest*}", {
    access: { kind: "agent", role: "viewer", scope: "read" },
    responses: { 200: { description: "o", schema: Owner } },
  }),
  spec("get", "/v2/open", { access: { kind: "open" } }),
  spec("get", "/v2/stream", {
    responses: { 200: { description: "events", contentType: "text/event-stream" } },
  }),
  spec("get", "/v2/hidden", { hidden: true }),
];
const document: ApiDocument = {
  path: "/v2/openapi.json",
  title: "Things",
  version: "0.1.0",
  description: "d",
  routes,
};

type Operation = {
  parameters: { name: string; in: string; required: boolean; schema: unknown; description?: string }[];
  requestBody: { required: boolean; content: unknown };
  responses: Record<string, { content?: Record<string, { schema: unknown }> }>;
  security: unknown[];
};
type Document = {
  openapi: string;
  info: unknown;
  paths: Record<string, Record<string, Operation>>;
  components: {
    schemas: Record<string, { required?: string[]; properties: Record<string, unknown> }>;
    securitySchemes: unknown;
  };
};
const built = buildOpenApi(document) as unknown as Document;

describe("the document", () => {
  it("is OpenAPI 3.1 with its version", () => {
    expect([built.openapi, built.info]).toEqual([
      "3.1.0",
      { title: "Things", version: "0.1.0", description: "d" },
    ]);
  });
  it("has every route but the hidden ones, in a fixed order", () => {
    expect(Object.keys(built.paths)).toEqual([
      "/v2/open",
      "/v2/owners/{rest}",
      "/v2/stream",
      "/v2/things",
      "/v2/things/{thing_id}",
    ]);
    expect(JSON.stringify(buildOpenApi({ ...document, routes: routes.toReversed() }))).toBe(
      JSON.stringify(built),
    );
  });
  it("describes parameters", () => {
    expect(built.paths["/v2/things/{thing_id}"]?.get?.parameters).toMatchObject([
      {
        name: "thing_id",
        in: "path",
        required: true,
        description: "Which one",
        schema: { type: "string", format: "uuid" },
      },
      { name: "limit", in: "query", required: false, schema: { type: "integer", maximum: 5, default: 2 } },
      { name: "name", in: "query", required: true, schema: { type: "string" } },
    ]);
    expect(built.paths["/v2/things"]?.post?.parameters).toMatchObject([
      { name: "Idempotency-Key", in: "header" },
    ]);
  });
  it("names schemas once, and twice where sent and received differ", () => {
    const post = built.paths["/v2/things"]?.post;
    expect(post?.requestBody).toEqual({
      required: true,
      content: { "application/json": { schema: { $ref: "#/components/schemas/ThingInput" } } },
    });
    expect(post?.responses["201"]?.content?.["application/json"]?.schema).toEqual({
      $ref: "#/components/schemas/Thing",
    });
    const { schemas } = built.components;
    expect(Object.keys(schemas)).toEqual([
      "ErrorDetail",
      "HTTPValidationError",
      "Owner",
      "Thing",
      "ThingInput",
      "ValidationError",
    ]);
    expect(schemas.Thing?.required).toContain("size");
    expect(schemas.ThingInput?.required).not.toContain("size");
    expect(schemas.Thing?.properties.owner).toEqual({ $ref: "#/components/schemas/Owner" });
    expect(JSON.stringify(built)).not.toMatch(/\$defs|additionalProperties|"(?:in|out)put:/);
  });
  it("names recursive schemas that have no name", () => {
    const Tree = z.object({
      get children() {
        return z.array(Tree);
      },
    });
    const document = buildOpenApi({
      title: "t",
      version: "1",
      description: "",
      routes: [spec("post", "/a", { body: Tree }), spec("post", "/b", { body: z.object({ tree: Tree }) })],
    }) as unknown as Document;
    const names = Object.keys(document.components.schemas).filter((name) => name.startsWith("Schema"));
    expect(names).toEqual(["Schema1", "Schema2"]);
    for (const name of names) {
      expect(document.components.schemas[name]?.properties.children).toEqual({
        type: "array",
        items: { $ref: `#/components/schemas/${name}` },
      });
    }
  });
  it("has the validation error of the contract", () => {
    const { ValidationError, HTTPValidationError } = built.components.schemas;
    expect(ValidationError?.required).toEqual(["loc", "msg", "type"]);
    expect(Object.keys(ValidationError?.properties ?? {})).toEqual(["loc", "msg", "type", "input", "ctx"]);
    expect(HTTPValidationError?.properties.detail).toMatchObject({
      type: "array",
      items: { $ref: "#/components/schemas/ValidationError" },
    });
  });
  it("documents the errors that follow from the route", () => {
    expect(Object.keys(built.paths["/v2/things"]?.post?.responses ?? {})).toEqual([
      "201",
      "401",
      "403",
      "409",
      "422",
    ]);
    expect(Object.keys(built.paths["/v2/open"]?.get?.responses ?? {})).toEqual(["200"]);
    expect(built.paths["/v2/stream"]?.get?.responses["200"]?.content).toEqual({
      "text/event-stream": { schema: { type: "string" } },
    });
  });
  it("lists three security entries", () => {
    const three = [{ "API Key": [] }, { "Tenant ID": [] }, { "Bearer Auth": [] }];
    expect(built.paths["/v2/things"]?.post?.security).toEqual(three);
    expect(built.paths["/v2/owners/{rest}"]?.get?.security).toEqual([...three, {}]);
    expect(built.paths["/v2/open"]?.get?.security).toEqual([]);
    expect(Object.keys(built.components.securitySchemes as object)).toEqual([
      "API Key",
      "Tenant ID",
      "Bearer Auth",
    ]);
  });
  it("has no reference that leads nowhere", () => {
    for (const [, name] of JSON.stringify(built).matchAll(/"#\/components\/schemas\/([^"]+)"/g)) {
      expect(built.components.schemas[name!]).toBeDefined();
    }
  });
});

describe("serving", () => {
  const { fetch } = createHttpApp({
    routes,
    authenticator: {
      authenticate: async () => null,
      loopbackCaller: () => Promise.reject(new Error("unused")),
    },
    agentAuthRequired: true,
    logger: createLogger({ level: "silent" }),
    metrics: new Metrics({ processMetrics: false }),
    corsOrigins: [],
    documents: [document, { ...document, path: "/openapi.json", title: `A "quoted" <title>` }],
    validateResponses: true,
    aliases: { "/api-host": ["/v2"] },
  });
  const get = async (path: string) => await fetch(new Request(`http://localhost${path}`));

  it("gives each document at its path, and under the alias", async () => {
    for (const path of ["/v2/openapi.json", "/api-host/v2/openapi.json"]) {
      const response = await get(path);
      expect([response.status, await response.json()]).toEqual([200, JSON.parse(JSON.stringify(built))]);
    }
  });
  it("gives a page that loads only from here", async () => {
    const response = await get("/docs");
    const html = await response.text();
    expect(response.headers.get("content-security-policy")).toContain("script-src 'self'");
    expect(html).toContain("&lt;title&gt;");
    for (const [, address] of html.matchAll(/(?:src|href)="([^"]+)"/g))
      expect(address).toMatch(/^(\/|data:,)/);
    const script = await get("/docs/docs.js");
    expect(script.headers.get("content-type")).toContain("text/javascript");
    const text = await script.text();
    expect(() => new Function(text)).not.toThrow();
    expect(text).not.toMatch(/https?:\/\/|innerHTML/);
    expect((await get("/docs/docs.css")).headers.get("content-type")).toContain("text/css");
  });
});
