import { Writable } from "node:stream";
import { z } from "zod";
import { AppError, type CodeAndKind, errorKinds } from "../../src/platform/errors.ts";
import type { Authenticator, Caller, Role } from "../../src/platform/http/access/caller.ts";
import { createHttpApp, type HttpAppOptions } from "../../src/platform/http/pipeline/http-app.ts";
import { json, noContent, type Route, route } from "../../src/platform/http/route.ts";
import { queryList } from "../../src/platform/http/validation/query.ts";
import { createLogger } from "../../src/platform/logger.ts";
import { Metrics } from "../../src/platform/metrics.ts";

const base = "http://localhost:8124";
export const caller = (role: Role, via: Caller["via"] = "api_key"): Caller => ({
  organizationId: "11111111-1111-4111-8111-111111111111",
  workspaceId: "22222222-2222-4222-8222-222222222222",
  userId: "33333333-3333-4333-8333-333333333333",
  role,
  via,
  scopes: null,
  mayUseAccounts: true,
});

/** Knows the keys `viewer`, `editor` and `admin`. */
const authenticator: Authenticator = {
  async authenticate(headers) {
    const key = headers.get("x-api-key");
    if (key === null) return null;
    if (key === "viewer" || key === "editor" || key === "admin") return caller(key);
    throw new AppError({ code: "auth.key_unknown", kind: "unauthenticated", message: "Unknown API key." });
  },
  loopbackCaller: async () => caller("admin", "loopback"),
};

const echo = z.looseObject({});
const ok = { 200: { description: "ok", schema: echo } };
const open = { kind: "open" } as const;
let operations = 0;

export function get(path: `/${string}`, handle: Route["handle"], more: Partial<Route["spec"]> = {}): Route {
  operations += 1;
  return {
    spec: {
      method: "get",
      path,
      operationId: `op${operations}`,
      summary: "",
      tag: "t",
      access: open,
      responses: ok,
      ...more,
    },
    handle,
  };
}

const createBody = z.object({
  name: z.string().min(2).max(5),
  size: z.int().max(10).optional(),
  mode: z.enum(["a", "b"]).optional(),
  tags: z.array(z.string()).optional(),
  secrets: z.array(z.object({ name: z.string(), value: z.string() })).optional(),
});

const routes: Route[] = [
  get("/things/{id}", ({ params }) => json(200, { route: "param", ...(params as { id: string }) }), {
    params: z.object({ id: z.string() }),
  }),
  get("/things/search", () => json(200, { route: "search" })),
  get("/things/{id}/parts/{part}", ({ params }) => json(200, params), {
    params: z.object({ id: z.string(), part: z.string() }),
  }),
  get("/files/{rest*}", ({ params }) => json(200, params), { params: z.object({ rest: z.string() }) }),
  get("/uuids/{thing_id}", ({ params }) => json(200, params), { params: z.object({ thing_id: z.uuid() }) }),
  get("/list", ({ query }) => json(200, query), {
    query: z.object({
      limit: z.coerce.number().int().max(100).default(10),
      id: queryList(z.string()).optional(),
      name: z.string().optional(),
    }),
  }),
  route(
    {
      method: "post",
      path: "/things",
      operationId: "create",
      summary: "",
      tag: "t",
      access: open,
      body: createBody,
      maxBodyBytes: 1000,
      responses: { 201: { description: "made", schema: echo } },
    },
    ({ body }) => json(201, body),
  ),
  get("/free", ({ body }) => json(200, body), { method: "post", body: z.looseObject({}) }),
  get("/batch", ({ body }) => json(200, body), { method: "post", body: z.array(z.string()) }),
  get("/raw", async ({ request }) => json(200, { size: (await request.text()).length }), {
    method: "post",
    rawBody: true,
    maxBodyBytes: 100,
  }),
  get("/locked", ({ caller }) => json(200, { role: caller?.role, via: caller?.via }), {
    access: { kind: "workspace", role: "editor", scope: "runs" },
  }),
  get("/agent", ({ caller }) => json(200, { via: (caller as Caller | null)?.via }), {
    access: { kind: "agent", role: "viewer", scope: "read" },
  }),
  get("/boom", () => {
    throw new Error("the password is hunter2");
  }),
  get("/nul", () => {
    throw Object.assign(new Error("invalid byte sequence"), { code: "22021" });
  }),
  get("/kinds/{kind}", ({ request }) => {
    const kind = errorKinds.find((known) => request.url.endsWith(`/${known}`))!;
    // Whatever its kind: no code has them all.
    const error = { code: "auth.refused", kind } as CodeAndKind;
    throw new AppError({ ...error, message: "words", headers: { "retry-after": "7" } });
  }),
  get("/gone", () => noContent(), { method: "delete", responses: { 204: { description: "gone" } } }),
  get("/wrong-shape", () => json(200, { count: "many" }), {
    responses: { 200: { description: "", schema: z.object({ count: z.int() }) } },
  }),
  get("/wrong-status", () => json(202, {})),
  get("/page", () => new Response("<p>hi", { headers: { "content-type": "text/html" } })),
  get("/redirect", () => Response.redirect("http://localhost/elsewhere", 302), {
    responses: { 302: { description: "elsewhere" } },
  }),
  get("/ok", () => json(200, { ok: true })),
  get("/v2/hello", () => json(200, { hello: true })),
];

/** An app with its log and metrics at hand. */
export function buildHttpApp(options: Partial<HttpAppOptions> = {}) {
  const lines: Record<string, unknown>[] = [];
  const destination = new Writable({
    write(chunk, _encoding, done) {
      lines.push(JSON.parse(String(chunk)));
      done();
    },
  });
  const metrics = new Metrics({ processMetrics: false });
  const http = createHttpApp({
    routes,
    authenticator,
    agentAuthRequired: false,
    logger: createLogger({ level: "debug", destination }),
    metrics,
    corsOrigins: ["https://studio.example"],
    documents: [],
    validateResponses: true,
    aliases: { "/api-host": ["/v1", "/v2"] },
    ...options,
  });
  const call = async (path: string, init: RequestInit = {}) => {
    const response = await http.fetch(new Request(`${base}${path}`, init));
    const text = await response.text();
    const isJson = response.headers.get("content-type")?.startsWith("application/json");
    return {
      response,
      status: response.status,
      headers: response.headers,
      text,
      body: isJson && text !== "" ? JSON.parse(text) : undefined,
    };
  };
  return { http, call, lines, metrics };
}
