import { describe, expect, it } from "vitest";
import { buildHttpApp, caller, get } from "../../../../tests/support/http-app-fixture.ts";
import { json } from "../route.ts";

const { call } = buildHttpApp();
const post = (path: string, body: string | Uint8Array<ArrayBuffer>, headers: Record<string, string> = {}) =>
  call(path, { method: "POST", body, headers: { "content-type": "application/json", ...headers } });

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
  it("accepts JSON without a content type from whoever brings a key, and an empty body as {}", async () => {
    const bytes = new TextEncoder().encode('{"name":"abc"}');
    const headers = { "x-api-key": "admin" };
    expect((await call("/things", { method: "POST", body: bytes, headers })).status).toBe(201);
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

describe("headers", () => {
  it("protects pages and answers", async () => {
    const page = (await call("/page", {})).headers;
    expect(page.get("x-request-id")).not.toBeNull();
    const plain = (await buildHttpApp({ validateResponses: false }).call("/page")).headers;
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
    const closed = buildHttpApp({ agentAuthRequired: true });
    const local = await closed.call("/ok", { headers: { origin: "http://localhost:1" } });
    expect(local.headers.has("access-control-allow-origin")).toBe(false);
  });
});

describe("log and metrics", () => {
  it("writes the template, never values", async () => {
    const own = buildHttpApp();
    await own.call("/list?name=hunter2", { headers: { "x-api-key": "admin", "x-request-id": "one" } });
    await own.call("/things/4711");
    await own.call("/ok");
    await own.call("/locked", { headers: { "x-api-key": "admin" } });
    await own.call("/free", { method: "POST" });
    const requests = own.lines.filter((line) => line.msg === "request");
    expect(requests.map((line) => [line.level, line.method, line.route, line.status])).toEqual([
      [20, "GET", "/list", 200],
      [20, "GET", "/things/{id}", 200],
      [20, "GET", "/ok", 200],
      [20, "GET", "/locked", 200],
      [30, "POST", "/free", 200],
    ]);
    expect(requests[0]?.request_id).toBe("one");
    expect(requests[3]?.workspace_id).toBe(caller("admin").workspaceId);
    expect(JSON.stringify(own.lines)).not.toMatch(/hunter2|4711|admin/);
    expect(requests[0]).not.toHaveProperty("headers");
    const { body } = await own.metrics.render("prometheus");
    expect(body).toContain('lg_api_http_requests_total{method="GET",path="/things/{id}",status="200"} 1');
    expect(body).toContain('lg_api_http_requests_latency_count{method="GET",path="/list"} 1');
  });
});

describe("an address that is nothing", () => {
  const nowherePage = async () => new Response("<h1>Not found</h1>", { status: 404 });
  const visit = { headers: { accept: "text/html,application/xhtml+xml,*/*;q=0.8" } };
  it("is a page for people and JSON for programs", async () => {
    const own = buildHttpApp({ nowherePage });
    expect(await own.call("/nowhere", visit)).toMatchObject({ status: 404, text: "<h1>Not found</h1>" });
    expect((await own.call("/nowhere")).body).toMatchObject({ detail: expect.stringContaining("/docs") });
    expect((await own.call("/nowhere", { ...visit, method: "POST" })).status).toBe(404);
    expect((await own.call("/nowhere", { ...visit, method: "POST" })).text).not.toContain("<h1>");
    expect((await own.call("/things/1", { ...visit, method: "DELETE" })).status).toBe(405);
  });
});

describe("headers in the log", () => {
  it("are those it is configured to pick, also of what has no route", async () => {
    const own = buildHttpApp({ loggedHeaders: (headers) => ({ mood: headers.get("x-mood") ?? "none" }) });
    await own.call("/ok", { headers: { "x-mood": "calm", cookie: "secret" } });
    await own.call("/nowhere");
    expect(own.lines.map((line) => line.headers)).toEqual([{ mood: "calm" }, { mood: "none" }]);
    expect(JSON.stringify(own.lines)).not.toContain("secret");
  });
});

describe("building", () => {
  it("refuses two routes on one path", () => {
    expect(() =>
      buildHttpApp({ routes: [get("/a/{x}", () => json(200, {})), get("/a/{y}", () => json(200, {}))] }),
    ).toThrow("registered twice");
  });
});
