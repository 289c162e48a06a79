import { Writable } from "node:stream";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { AppError, errorKinds } from "../errors.ts";
import { createLogger } from "../logger.ts";
import { createMetrics } from "../metrics.ts";
import type { Authenticator, Caller, Role } from "./caller.ts";
import { statusOf } from "./error-response.ts";
import { createHttpApp, type HttpAppOptions } from "./http-app.ts";
import { queryList } from "./query.ts";
import { json, noContent, type Route, route } from "./route.ts";

const base = "http://localhost:8124";
const caller = (role: Role, via: Caller["via"] = "api_key"): Caller => ({
  organizationId: "11111111-1111-4111-8111-111111111111",
  workspaceId: "22222222-2222-4222-8222-222222222222",
  userId: "33333333-3333-4333-8333-333333333333",
  role,
  via,
});

/** Knows the keys `viewer`, `editor` and `admin`. */
const authenticator: Authenticator = {
  async authenticate(headers) {
    const key = headers.get("x-api-key");
    if (key === null) return null;
    if (key === "viewer" || key === "editor" || key === "admin") return caller(key);
    throw new AppError({ code: "auth.unknown_key", kind: "unauthenticated", message: "Unknown API key." });
  },
  loopbackCaller: async () => caller("admin", "loopback"),
};

const echo = z.looseObject({});
const ok = { 200: { description: "ok", schema: echo } };
const open = { kind: "open" } as const;
let operations = 0;

function get(path: `/${string}`, handle: Route["handle"], more: Partial<Route["spec"]> = {}): Route {
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
  get("/things/{id}", ({ c }) => json(200, { route: "param", id: c.req.param("id") })),
  get("/things/search", () => json(200, { route: "search" })),
  get("/things/{id}/parts/{part}", ({ c }) => json(200, c.req.param())),
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
  get("/raw", async ({ c }) => json(200, { size: (await c.req.text()).length }), {
    method: "post",
    rawBody: true,
    maxBodyBytes: 100,
  }),
  get("/locked", ({ caller }) => json(200, { role: caller?.role, via: caller?.via }), {
    access: { kind: "workspace", role: "editor" },
  }),
  get("/agent", ({ caller }) => json(200, { via: (caller as Caller | null)?.via }), {
    access: { kind: "agent", role: "viewer" },
  }),
  get("/boom", () => {
    throw new Error("the password is hunter2");
  }),
  get("/nul", () => {
    throw Object.assign(new Error("invalid byte sequence"), { code: "22021" });
  }),
  get("/kinds/{kind}", ({ c }) => {
    const kind = errorKinds.find((known) => known === c.req.param("kind"))!;
    throw new AppError({ code: "x.y", kind, message: "words", headers: { "retry-after": "7" } });
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

function build(options: Partial<HttpAppOptions> = {}) {
  const lines: Record<string, unknown>[] = [];
  const destination = new Writable({
    write(chunk, _encoding, done) {
      lines.push(JSON.parse(String(chunk)));
      done();
    },
  });
  const metrics = createMetrics({ processMetrics: false });
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

const { call, lines } = build();
const post = (path: string, body: string | Uint8Array<ArrayBuffer>, headers: Record<string, string> = {}) =>
  call(path, { method: "POST", body, headers: { "content-type": "application/json", ...headers } });
const issueOf = async (path: string, body: unknown) => {
  const answer = await post(path, JSON.stringify(body));
  expect(answer.status).toBe(422);
  return answer.body.detail;
};

describe("200", () => {
  it("prefers a fixed segment to a parameter, whatever the order", async () => {
    expect((await call("/things/search")).body).toEqual({ route: "search" });
    expect((await call("/things/searching")).body).toEqual({ route: "param", id: "searching" });
  });
  it("goes back from a fixed segment that leads nowhere", async () => {
    expect((await call("/things/search/parts/1")).body).toEqual({ id: "search", part: "1" });
  });
  it("decodes a parameter once", async () => {
    expect((await call("/things/a%2Fb%2525")).body).toEqual({ route: "param", id: "a/b%25" });
  });
  it("gives the remainder of the path", async () => {
    expect((await call("/files/a/b/c/")).body).toEqual({ rest: "a/b/c/" });
    expect((await call("/files/")).body).toEqual({ rest: "" });
    expect((await call("/files")).body).toEqual({ rest: "" });
  });
  it("takes a trailing slash as the same path", async () => {
    expect((await call("/ok/")).body).toEqual({ ok: true });
  });
  it("serves aliases", async () => {
    expect((await call("/api-host/v2/hello")).body).toEqual({ hello: true });
    expect((await call("/api-host/ok")).status).toBe(404);
  });
  it("reads lists in the query only where the schema has one", async () => {
    expect((await call("/list?id=1")).body).toEqual({ limit: 10, id: ["1"] });
    expect((await call("/list?id=1&id=2&name=x&name=y&limit=3")).body).toEqual({
      limit: 3,
      id: ["1", "2"],
      name: "y",
    });
  });
  it("answers HEAD like GET, without a body", async () => {
    const answer = await call("/ok", { method: "HEAD" });
    expect([answer.status, answer.text]).toEqual([200, ""]);
  });
  it("accepts JSON without a content type and an empty body as {}", async () => {
    const bytes = new TextEncoder().encode('{"name":"abc"}');
    expect((await call("/things", { method: "POST", body: bytes })).status).toBe(201);
    expect((await call("/free", { method: "POST" })).body).toEqual({});
    expect((await post("/free", "  ")).body).toEqual({});
  });
  it("accepts other JSON types", async () => {
    expect(
      (await post("/free", "{}", { "content-type": "application/merge-patch+json; charset=utf-8" })).status,
    ).toBe(200);
  });
  it("keeps __proto__ out of bodies", async () => {
    const answer = await post("/free", '{"a":{"__proto__":{"polluted":1},"\\u005f_proto__":2},"b":1}');
    expect(answer.text).toBe('{"a":{},"b":1}');
    expect(({} as Record<string, unknown>).polluted).toBeUndefined();
  });
  it("carries a valid request id and replaces another", async () => {
    expect(
      (await call("/ok", { headers: { "x-request-id": "abc-1.2:3" } })).headers.get("x-request-id"),
    ).toBe("abc-1.2:3");
    const other = (await call("/ok", { headers: { "x-request-id": "a b\tc" } })).headers.get("x-request-id");
    expect(other).toMatch(/^[0-9a-f-]{36}$/);
  });
});

describe("204", () => {
  it("has no body", async () => {
    const answer = await call("/gone", { method: "DELETE" });
    expect([answer.status, answer.text]).toEqual([204, ""]);
  });
  it("lists the methods of a path on OPTIONS", async () => {
    const answer = await call("/things", { method: "OPTIONS" });
    expect([answer.status, answer.headers.get("allow")]).toEqual([204, "OPTIONS, POST"]);
  });
});

describe("302", () => {
  it("passes locked headers through", async () => {
    const answer = await call("/redirect");
    expect([answer.status, answer.headers.get("location")]).toEqual([302, "http://localhost/elsewhere"]);
    expect(answer.headers.get("x-content-type-options")).toBe("nosniff");
  });
});

describe("400", () => {
  it.each(["/things/%ff", "/things/%", "/things/%E0%A4%A", "/things/a%00b"])(
    "refuses the path %s",
    async (path) => {
      const answer = await call(path);
      expect(answer.status).toBe(400);
      expect(answer.body.detail).toContain("percent-encoding");
    },
  );
});

describe("401", () => {
  it("asks for a credential", async () => {
    const answer = await call("/locked");
    expect(answer.status).toBe(401);
    expect(answer.headers.get("www-authenticate")).toContain("Bearer");
    expect(answer.body.detail).toContain("X-Api-Key");
  });
  it("refuses a bad credential everywhere, also where none is needed", async () => {
    for (const path of ["/locked", "/agent"]) {
      expect((await call(path, { headers: { "x-api-key": "wrong" } })).status).toBe(401);
    }
  });
  it("closes agent routes when a credential is required", async () => {
    const closed = build({ agentAuthRequired: true });
    expect((await closed.call("/agent")).status).toBe(401);
    expect((await closed.call("/agent", { headers: { "x-api-key": "viewer" } })).body).toEqual({
      via: "api_key",
    });
  });
  it("comes before validation", async () => {
    expect((await call("/locked?limit=x")).status).toBe(401);
  });
});

describe("403", () => {
  it("refuses a role that is too low", async () => {
    const answer = await call("/locked", { headers: { "x-api-key": "viewer" } });
    expect(answer.status).toBe(403);
    expect(answer.body.detail).toContain("editor");
    expect((await call("/locked", { headers: { "x-api-key": "admin" } })).status).toBe(200);
  });
  it.each([
    ["a foreign page", { origin: "https://evil.example" }],
    ["a sandboxed page", { origin: "null" }],
    ["a name that resolves to loopback", { host: "evil.example:8124" }],
    ["a name that only starts like loopback", { host: "localhost.evil.example" }],
    ["an origin that only looks like loopback", { origin: "http://localhost@evil.example" }],
    ["a picture on a foreign page", { "sec-fetch-site": "cross-site" }],
    ["a host that is none", { host: "localhost/evil" }],
  ])("keeps %s away from credential-free agents", async (_name, headers) => {
    const answer = await call("/agent", { headers });
    expect(answer.status).toBe(403);
    expect(typeof answer.body.detail).toBe("string");
  });
  it.each([
    [{}],
    [{ host: "127.0.0.1:9999" }],
    [{ host: "[::1]:8124" }],
    [{ host: "app.localhost" }],
    [{ origin: "http://localhost:5173", "sec-fetch-site": "cross-site" }],
    [{ origin: "http://127.0.0.1:3000" }],
    [{ origin: "https://studio.example", "sec-fetch-site": "cross-site" }],
    [{ "sec-fetch-site": "same-origin" }],
  ])("lets %j through", async (headers) => {
    expect((await call("/agent", { headers })).body).toEqual({ via: "loopback" });
  });
  it("does not take * as trust", async () => {
    const any = build({ corsOrigins: ["*"] });
    expect((await any.call("/agent", { headers: { origin: "https://evil.example" } })).status).toBe(403);
    const keyed = await any.call("/agent", {
      headers: { origin: "https://a.example", "x-api-key": "viewer" },
    });
    expect(keyed.headers.get("access-control-allow-origin")).toBe("*");
  });
});

describe("404", () => {
  it("says so in the one shape", async () => {
    const answer = await call("/nothing/here");
    expect(answer.status).toBe(404);
    expect(Object.keys(answer.body)).toEqual(["detail"]);
    expect((await call("/nothing", { method: "OPTIONS" })).status).toBe(404);
  });
  it("matches no empty parameter", async () => {
    expect((await call("/uuids/")).status).toBe(404);
    expect((await call("/things//parts/1")).status).toBe(404);
  });
});

describe("405", () => {
  it("names the methods", async () => {
    const answer = await call("/ok", { method: "DELETE" });
    expect([answer.status, answer.headers.get("allow")]).toEqual([405, "GET, HEAD, OPTIONS"]);
    expect(answer.body.detail).toContain("DELETE");
  });
});

const chunked = (size: number, pieces: number) =>
  new ReadableStream({
    start(controller) {
      for (let i = 0; i < pieces; i++) controller.enqueue(new Uint8Array(size).fill(0x20));
      controller.close();
    },
  });

describe("413", () => {
  it("refuses by the declared length without reading", async () => {
    const answer = await call("/things", {
      method: "POST",
      body: "{}",
      headers: { "content-length": "1001" },
    });
    expect(answer.status).toBe(413);
    expect(answer.body.detail).toContain("1000");
  });
  it("counts a body without a length", async () => {
    const init = { method: "POST", body: chunked(300, 4), duplex: "half" } as RequestInit;
    expect((await call("/things", init)).status).toBe(413);
  });
  it("holds for handlers that read the body themselves", async () => {
    const init = { method: "POST", body: chunked(60, 2), duplex: "half" } as RequestInit;
    expect((await call("/raw", init)).status).toBe(413);
    expect(
      (await call("/raw", { method: "POST", body: chunked(50, 2), duplex: "half" } as RequestInit)).body,
    ).toEqual({
      size: 100,
    });
  });
});

describe("415", () => {
  it("refuses a declared type that is not JSON", async () => {
    expect((await post("/free", "a=1", { "content-type": "application/x-www-form-urlencoded" })).status).toBe(
      415,
    );
    expect((await post("/free", "{}", { "content-type": "text/plain" })).status).toBe(415);
  });
});

describe("422", () => {
  it("names a missing field", async () => {
    expect(await issueOf("/things", {})).toEqual([
      { loc: ["body", "name"], msg: "Field required", type: "missing" },
    ]);
  });
  it("names each broken rule", async () => {
    const issues = await issueOf("/things", { name: "toolong", size: 11, mode: "c", tags: ["a", 1] });
    expect(issues).toEqual([
      {
        loc: ["body", "name"],
        msg: "String should have at most 5 characters",
        type: "string_too_long",
        input: "toolong",
        ctx: { max_length: 5 },
      },
      {
        loc: ["body", "size"],
        msg: "Input should be less than or equal to 10",
        type: "less_than_equal",
        input: 11,
        ctx: { le: 10 },
      },
      {
        loc: ["body", "mode"],
        msg: "Input should be 'a' or 'b'",
        type: "enum",
        input: "c",
        ctx: { expected: "'a' or 'b'" },
      },
      { loc: ["body", "tags", 1], msg: "Input should be a valid string", type: "string_type", input: 1 },
    ]);
  });
  it("never echoes a secret", async () => {
    const issues = await issueOf("/things", {
      name: "abc",
      secrets: [{ name: "K", value: 4711 }, "hunter2"],
    });
    expect(issues.map((issue: { loc: unknown }) => issue.loc)).toEqual([
      ["body", "secrets", 0, "value"],
      ["body", "secrets", 1],
    ]);
    expect(JSON.stringify(issues)).not.toMatch(/4711|hunter2/);
  });
  it.each(['{"name":', "{'a':1}", '{"password":"hunter2" oops}', "nul"])(
    "refuses the body %s",
    async (text) => {
      const answer = await post("/things", text);
      expect(answer.status).toBe(422);
      expect(answer.body.detail).toMatchObject([{ loc: ["body"], type: "json_invalid" }]);
      expect(answer.text).not.toContain("hunter2");
    },
  );
  it("refuses bytes that are not UTF-8", async () => {
    const answer = await post("/free", new Uint8Array([0x22, 0xff, 0x22]));
    expect(answer.body.detail).toMatchObject([{ type: "json_invalid" }]);
  });
  it("refuses JSON nested too deep", async () => {
    const answer = await post("/free", `{"a":${"[".repeat(5000)}${"]".repeat(5000)}}`);
    expect(answer.status).toBe(422);
    expect(answer.body.detail[0].msg).toContain("512");
  });
  it("refuses a body of another kind", async () => {
    expect(await issueOf("/things", [])).toEqual([
      { loc: ["body"], msg: "Input should be a valid dictionary", type: "dict_type" },
    ]);
    const empty = await call("/batch", { method: "POST" });
    expect(empty.body.detail).toEqual([{ loc: ["body"], msg: "Field required", type: "missing" }]);
  });
  it("names the parameter of the path", async () => {
    const answer = await call("/uuids/nope");
    expect(answer.status).toBe(422);
    expect(answer.body.detail).toEqual([
      { loc: ["path", "thing_id"], msg: "Input should be a valid UUID", type: "uuid_parsing", input: "nope" },
    ]);
  });
  it("names the parameter of the query", async () => {
    const answer = await call("/list?limit=ten");
    expect(answer.body.detail).toMatchObject([{ loc: ["query", "limit"], type: "int_parsing" }]);
    expect((await call("/list?limit=101")).body.detail).toMatchObject([
      { type: "less_than_equal", ctx: { le: 100 } },
    ]);
    expect((await call("/list?name=%00")).status).toBe(422);
  });
  it("takes a NUL the database refused as the caller's", async () => {
    expect((await call("/nul")).status).toBe(422);
  });
});

describe("every kind of error", () => {
  it.each(errorKinds.map((kind) => [kind, statusOf(kind)] as const))(
    "%s answers %i",
    async (kind, status) => {
      const answer = await call(`/kinds/${kind}`);
      expect(answer.status).toBe(status);
      expect(answer.headers.get("retry-after")).toBe("7");
      if (kind === "unprocessable") expect(answer.body.detail[0].msg).toBe("words");
      else expect(answer.body).toEqual({ detail: "words" });
    },
  );
});

describe("500", () => {
  it("hides what happened and logs it with the request id", async () => {
    const answer = await call("/boom", { headers: { "x-request-id": "req-boom" } });
    expect(answer.status).toBe(500);
    expect(answer.body).toEqual({ detail: "Internal error. Request id req-boom." });
    const line = lines.find((entry) => entry.request_id === "req-boom" && entry.level === 50);
    expect(line?.err).toMatchObject({ stack: expect.stringContaining("http-app.test.ts") });
  });
  it("shows an answer that is not as published", async () => {
    const shape = await call("/wrong-shape");
    expect([shape.status, shape.body.detail]).toEqual([500, expect.stringContaining("response.count")]);
    const status = await call("/wrong-status");
    expect([status.status, status.body.detail]).toEqual([500, expect.stringContaining("202")]);
    const lenient = build({ validateResponses: false });
    expect((await lenient.call("/wrong-shape")).status).toBe(200);
  });
});

describe("headers", () => {
  it("protects pages and answers", async () => {
    const page = (await call("/page", {})).headers;
    expect(page.get("x-request-id")).not.toBeNull();
    const plain = (await build({ validateResponses: false }).call("/page")).headers;
    expect(plain.get("content-security-policy")).toContain("frame-ancestors 'none'");
    const answer = (await call("/agent")).headers;
    expect(answer.get("x-content-type-options")).toBe("nosniff");
    expect(answer.get("x-frame-options")).toBe("DENY");
    expect(answer.get("cache-control")).toBe("no-store");
  });
  it("lets allowed origins read, also errors", async () => {
    for (const path of ["/ok", "/nothing", "/boom"]) {
      const { headers } = await call(path, { headers: { origin: "https://studio.example" } });
      expect(headers.get("access-control-allow-origin")).toBe("https://studio.example");
      expect(headers.get("access-control-expose-headers")).toContain("content-location");
      expect(headers.get("vary")).toContain("Origin");
      expect(headers.has("access-control-allow-credentials")).toBe(false);
    }
    const foreign = await call("/ok", { headers: { origin: "https://evil.example" } });
    expect(foreign.headers.has("access-control-allow-origin")).toBe(false);
  });
  it("answers preflights", async () => {
    const preflight = (origin: string) =>
      call("/things", { method: "OPTIONS", headers: { origin, "access-control-request-method": "POST" } });
    const allowed = await preflight("http://localhost:5173");
    expect(allowed.status).toBe(204);
    expect(allowed.headers.get("access-control-allow-origin")).toBe("http://localhost:5173");
    expect(allowed.headers.get("access-control-allow-headers")).toContain("last-event-id");
    expect((await preflight("https://evil.example")).headers.has("access-control-allow-origin")).toBe(false);
    const closed = build({ agentAuthRequired: true });
    const local = await closed.call("/ok", { headers: { origin: "http://localhost:1" } });
    expect(local.headers.has("access-control-allow-origin")).toBe(false);
  });
});

describe("log and metrics", () => {
  it("writes the template, never values", async () => {
    const own = build();
    await own.call("/list?name=hunter2", { headers: { "x-api-key": "admin", "x-request-id": "one" } });
    await own.call("/things/4711");
    await own.call("/ok");
    await own.call("/locked", { headers: { "x-api-key": "admin" } });
    const requests = own.lines.filter((line) => line.msg === "request");
    expect(requests.map((line) => [line.level, line.method, line.route, line.status])).toEqual([
      [30, "GET", "/list", 200],
      [30, "GET", "/things/{id}", 200],
      [20, "GET", "/ok", 200],
      [30, "GET", "/locked", 200],
    ]);
    expect(requests[0]?.request_id).toBe("one");
    expect(requests[3]?.workspace_id).toBe(caller("admin").workspaceId);
    expect(JSON.stringify(own.lines)).not.toMatch(/hunter2|4711|admin/);
    const { body } = await own.metrics.render("prometheus");
    expect(body).toContain('lg_api_http_requests_total{method="GET",path="/things/{id}",status="200"} 1');
    expect(body).toContain('lg_api_http_requests_latency_count{method="GET",path="/list"} 1');
  });
});

describe("building", () => {
  it("refuses two routes on one path", () => {
    expect(() =>
      build({ routes: [get("/a/{x}", () => json(200, {})), get("/a/{y}", () => json(200, {}))] }),
    ).toThrow("registered twice");
  });
});
