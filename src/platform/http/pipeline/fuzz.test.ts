import { connect } from "node:net";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { AppError } from "../../errors.ts";
import { createLogger } from "../../logger.ts";
import { Metrics } from "../../metrics.ts";
import { json, type Route, type RouteSpec } from "../route.ts";
import { listen } from "../server/server.ts";
import { queryList } from "../validation/query.ts";
import { createHttpApp } from "./http-app.ts";

/** The same numbers in every run, so that a failure can be seen again. */
function randomFrom(seed: number) {
  let state = seed;
  const next = () => {
    state = (state + 0x6d2b79f5) | 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
  };
  const below = (limit: number) => Math.floor(next() * limit);
  return { below, pick: <T>(items: readonly T[]): T => items[below(items.length)]! };
}
type Random = ReturnType<typeof randomFrom>;

const message = z.object({
  role: z.enum(["user", "ai"]),
  content: z.union([z.string(), z.array(z.looseObject({}))]),
});
const access = { kind: "agent", role: "viewer", scope: "read" } as const;
const spec = (more: Partial<RouteSpec> & Pick<RouteSpec, "method" | "path">): RouteSpec => ({
  operationId: `${more.method} ${more.path}`,
  summary: "",
  tag: "t",
  access,
  responses: { 200: { description: "ok" } },
  ...more,
});
const answer = () => json(200, { ok: true });
const routes: Route[] = [
  { spec: spec({ method: "get", path: "/ok" }), handle: answer },
  {
    spec: spec({ method: "get", path: "/threads/{thread_id}", params: z.object({ thread_id: z.guid() }) }),
    handle: answer,
  },
  {
    spec: spec({ method: "get", path: "/files/{rest*}", params: z.object({ rest: z.string() }) }),
    handle: answer,
  },
  {
    spec: spec({
      method: "post",
      path: "/threads/{thread_id}/runs",
      params: z.object({ thread_id: z.string().min(1) }),
      query: z.object({
        limit: z.coerce.number().int().min(1).max(9).optional(),
        ids: queryList(z.guid()).optional(),
      }),
      body: z.object({
        assistant_id: z.string(),
        input: z.record(z.string(), z.unknown()).nullish(),
        messages: z.array(message).optional(),
        config: z
          .strictObject({ tags: z.array(z.string()).optional(), limit: z.int().optional() })
          .optional(),
        when: z.iso.datetime({ offset: true }).optional(),
        tree: z.json().optional(),
      }),
      maxBodyBytes: 4000,
    }),
    handle: ({ body }) => json(200, body),
  },
  {
    spec: spec({ method: "put", path: "/store", body: z.looseObject({ key: z.string().optional() }) }),
    handle: ({ body }) => json(200, body),
  },
  { spec: spec({ method: "delete", path: "/threads/{thread_id}" }), handle: answer },
];

const http = createHttpApp({
  routes,
  authenticator: {
    authenticate: async (headers) => {
      if (!headers.has("x-api-key")) return null;
      throw new AppError({ code: "auth.key_unknown", kind: "unauthenticated", message: "Unknown API key." });
    },
    loopbackCaller: async () => ({
      organizationId: "o",
      workspaceId: "w",
      userId: "u",
      role: "admin",
      via: "loopback",
      scopes: null,
      mayUseAccounts: true,
    }),
  },
  agentAuthRequired: false,
  logger: createLogger({ level: "silent" }),
  metrics: new Metrics({ processMetrics: false }),
  corsOrigins: [],
  documents: [],
  validateResponses: true,
});

const paths = [
  "/",
  "/ok",
  "/threads/",
  "/threads/abc",
  "/threads/abc/runs",
  "/threads/abc/runs",
  "/store",
  "/files/a/b",
  "/store",
  "/nothing",
];
const pieces = [
  "%ff",
  "%",
  "%zz",
  "%00",
  "%2e%2e%2f",
  "//",
  "..",
  "é",
  "\u{1f600}",
  "?",
  "#",
  "&",
  "=",
  "limit=x",
  "ids=1&ids=2",
  "__proto__",
  "a".repeat(3000),
  ";",
  "%C3%28",
];
const methods = [
  "POST",
  "POST",
  "POST",
  "PUT",
  "PUT",
  "GET",
  "POST",
  "PUT",
  "PATCH",
  "DELETE",
  "HEAD",
  "OPTIONS",
  "PROPFIND",
  "QUERY",
  "get",
  "BREW",
];
const types = [
  undefined,
  "application/json",
  "text/plain",
  "application/json; charset=latin1",
  "multipart/form-data",
  ";;;",
  "",
  "APPLICATION/JSON",
];
const scalars = [null, true, 0, -1, 1.5, 1e308, "", "x", "\0", "\ud800", "2026-01-01T00:00:00Z", [], {}];
const names = [
  "assistant_id",
  "input",
  "messages",
  "config",
  "when",
  "tree",
  "key",
  "__proto__",
  "constructor",
  "",
  "limit",
  "tags",
  "role",
  "content",
];

function garbageValue(random: Random, depth: number): unknown {
  if (depth > 4 || random.below(3) === 0) return random.pick(scalars);
  if (random.below(3) === 0)
    return Array.from({ length: random.below(4) }, () => garbageValue(random, depth + 1));
  return Object.fromEntries(
    Array.from({ length: random.below(5) }, () => [random.pick(names), garbageValue(random, depth + 1)]),
  );
}

function garbageBody(random: Random): string | Uint8Array<ArrayBuffer> {
  switch (random.below(5)) {
    case 0:
      return Uint8Array.from({ length: random.pick([6000, random.below(200)]) }, () => random.below(256));
    case 1:
      return JSON.stringify(garbageValue(random, 0)).slice(0, random.below(60));
    case 2:
      return random.pick([
        "[".repeat(3000),
        '{"a":'.repeat(600),
        "\ufeff{}",
        "1e999",
        '"\\ud800"',
        "NaN",
        " ".repeat(5000),
        '{"a":1}{"b":2}',
      ]);
    default:
      return JSON.stringify(garbageValue(random, 0));
  }
}

function garbageRequest(random: Random): Request {
  let path = random.pick(paths);
  for (let i = random.below(3); i > 0; i--) path += random.pick(pieces);
  const method = random.pick(methods);
  const headers = new Headers();
  const type = random.pick(types);
  if (type !== undefined) headers.set("content-type", type);
  const extra = random.pick([
    "x-request-id",
    "origin",
    "host",
    "x-api-key",
    "content-length",
    "idempotency-key",
    "accept",
    "x-big",
  ]);
  headers.set(
    extra,
    random.pick([
      "",
      "1",
      "-1",
      "NaN",
      "null",
      "http://",
      "[::",
      "\u00ff",
      "x".repeat(9000),
      "99999999999999999999",
    ]),
  );
  const hasBody = !["GET", "HEAD", "get"].includes(method);
  return new Request(`http://localhost${path}`, {
    method,
    headers,
    ...(hasBody ? { body: garbageBody(random) } : {}),
  });
}

const expected = new Set([200, 204, 400, 401, 403, 404, 405, 413, 415, 422]);

describe("garbage", () => {
  it("is always answered as the caller's mistake, in process", async () => {
    const random = randomFrom(20260101);
    const seen = new Map<number, number>();
    for (let i = 0; i < 1000; i++) {
      const request = garbageRequest(random);
      const about = `request ${i}: ${request.method} ${request.url.slice(0, 100)}`;
      const response = await http.fetch(request);
      const text = await response.text();
      expect(expected, `${about} answered ${response.status} ${text.slice(0, 200)}`).toContain(
        response.status,
      );
      if (response.status >= 400 && request.method !== "HEAD") {
        expect(Object.keys(JSON.parse(text)), about).toEqual(["detail"]);
      }
      seen.set(response.status, (seen.get(response.status) ?? 0) + 1);
    }
    // The generator must reach past the first check, or it proves little.
    for (const status of [200, 400, 401, 403, 404, 405, 413, 415, 422])
      expect(seen.get(status) ?? 0, `answers with ${status}`).toBeGreaterThan(0);
    expect(({} as Record<string, unknown>).role).toBeUndefined();
  });

  it("does not bring the server down over the network", async () => {
    const server = await listen(http, {
      host: "127.0.0.1",
      port: 0,
      logger: createLogger({ level: "silent" }),
    });
    const random = randomFrom(7);
    const lines = [
      "GET /ok HTTP/1.1",
      "POST /store HTTP/1.1",
      "GET //[ HTTP/1.1",
      "GET /threads/%ff HTTP/1.1",
      "GET http://[::/ HTTP/1.1",
      "BREW /ok HTTP/1.1",
      "OPTIONS * HTTP/1.1",
      "GET \\ HTTP/1.1",
    ];
    const headers = [
      "Host: localhost",
      "Host: a b",
      "Host:",
      "Content-Length: 5",
      "Content-Length: x",
      "Transfer-Encoding: chunked",
      "Connection: Upgrade\r\nUpgrade: websocket",
      "X: \u00ff",
    ];
    for (let i = 0; i < 100; i++) {
      const head = [random.pick(lines), random.pick(headers), random.pick(headers), "Connection: close"].join(
        "\r\n",
      );
      const reply = await exchange(
        server.port,
        `${head}\r\n\r\n${random.pick(["", "{}", "\0\x01", "5\r\nhello\r\n0\r\n\r\n"])}`,
      );
      const status = /^HTTP\/1\.1 (\d+)/.exec(reply)?.[1];
      if (status !== undefined) expect(Number(status), head).toBeLessThan(500);
    }
    expect((await fetch(`${server.url}/ok`)).status).toBe(200);
    await server.close({ graceMs: 1 });
  });
});

/** What comes back until the server closes, or is cut off by it. */
function exchange(port: number, text: string): Promise<string> {
  return new Promise((resolve) => {
    const socket = connect(port, "127.0.0.1");
    let received = "";
    socket.on("data", (chunk) => {
      received += chunk.toString("latin1");
    });
    socket.on("error", () => resolve(received));
    socket.on("close", () => resolve(received));
    socket.end(Buffer.from(text, "latin1"));
  });
}
