import { Hono } from "hono";
import { describe, expect, test } from "vitest";
import { AppError } from "../../platform/errors.ts";
import { json, type Route, route } from "../../platform/http/route.ts";
import { createLogger } from "../../platform/logger.ts";
import { withCustomApp } from "./custom-app.ts";
import { behindAuth, guardedPaths } from "./custom-route-auth.ts";
import { cutPrefix, withoutPrefix } from "./mount-prefix.ts";
import { servedRoutes } from "./served-routes.ts";

const logger = createLogger({ level: "silent" });
const own = async (request: Request) =>
  new Response(`own ${new URL(request.url).pathname} ${await request.text()}`);
const post = (path: string, body: string) => new Request(`http://localhost${path}`, { method: "POST", body });

describe("an application of Hono in front of the server", () => {
  const app = new Hono();
  app.use("/read/*", async (c, next) => {
    await c.req.text();
    await next();
  });
  app.post("/mine", async (c) => c.text(`mine ${await c.req.text()}`));
  const fetch = withCustomApp({ custom: app, own, logger });

  test("answers its own paths and passes the rest on with its body", async () => {
    expect(await (await fetch(post("/mine", "a"))).text()).toBe("mine a");
    expect(await (await fetch(post("/yours", "b"))).text()).toBe("own /yours b");
  });

  test("may read a body that the server needs as well", async () => {
    expect(await (await fetch(post("/read/it", "c"))).text()).toBe("own /read/it c");
  });
});

describe("which comes first", () => {
  const seen: string[] = [];
  const app = new Hono();
  app.use("*", async (c, next) => {
    seen.push(c.req.path);
    await next();
  });
  app.get("/mine", (c) => c.text("mine"));
  const mixed = withCustomApp({ custom: app, own, logger });
  const refuse = async () => {
    throw new AppError({ code: "auth.unauthenticated", kind: "unauthenticated", message: "Who are you?" });
  };

  test.each([
    [{}, "/threads", 200],
    [{ middleware_order: "middleware_first" }, "/threads", 200],
    [{ middleware_order: "auth_first" }, "/threads", 401],
    [{ middleware_order: "auth_first" }, "/threads/1/runs", 401],
    [{ middleware_order: "auth_first" }, "/mine", 200],
    [{ middleware_order: "auth_first" }, "/ok", 200],
    [{ enable_custom_route_auth: true }, "/mine", 401],
    [{ enable_custom_route_auth: true, middleware_order: "middleware_first" }, "/threads", 401],
    [{ enable_custom_route_auth: true }, "/ok", 200],
  ] as const)("with %j a stranger asks for %s: %i", async (http, path, status) => {
    seen.length = 0;
    const guarded = guardedPaths(http);
    const fetch = guarded ? behindAuth(mixed, { authorize: refuse, logger, guarded }) : mixed;
    expect((await fetch(new Request(`http://localhost${path}`))).status).toBe(status);
    expect(seen).toEqual(status === 401 ? [] : [path]);
  });
});

describe("any object with fetch in front of the server", () => {
  const custom = {
    async fetch(request: Request) {
      const text = await request.text();
      if (text === "explode") throw new Error("on purpose");
      return request.url.endsWith("/mine")
        ? new Response(`mine ${text}`)
        : new Response("no", { status: 404 });
    },
  };
  const fetch = withCustomApp({ custom, own, logger });

  test("answers its own paths and leaves what it does not know", async () => {
    expect(await (await fetch(post("/mine", "a"))).text()).toBe("mine a");
    expect(await (await fetch(post("/yours", "b"))).text()).toBe("own /yours b");
  });

  test("that fails answers 500 and says whose failure it is", async () => {
    const answer = await fetch(post("/mine", "explode"));
    expect(answer.status).toBe(500);
    expect(await answer.json()).toEqual({
      detail: expect.stringContaining("project's own HTTP application"),
    });
  });
});

test.each([
  ["/agents/threads", "/threads"],
  ["/agents", "/"],
  ["/agents/", "/"],
  ["/agents?x=1", "/?x=1"],
  ["/agentsx", "/agentsx"],
  ["/threads", "/threads"],
])("without the prefix /agents %s is %s", (path, expected) => {
  expect(cutPrefix(path, "/agents/")).toBe(expected);
  expect(cutPrefix(path, "/")).toBe(path);
});

test("a request without its prefix is otherwise the same", async () => {
  const request = withoutPrefix(post("/a/b/threads?x=1", "body"), "/a/b");
  expect([request.url, request.method, await request.text()]).toEqual([
    "http://localhost/threads?x=1",
    "POST",
    "body",
  ]);
});

describe("what a project switches off", () => {
  const paths = [
    "/ok",
    "/info",
    "/metrics",
    "/assistants/search",
    "/threads",
    "/threads/{thread_id}/state",
    "/threads/{thread_id}/runs",
    "/threads/{thread_id}/runs/crons",
    "/runs/stream",
    "/store/items",
    "/mcp",
    "/a2a/{assistant_id}",
    "/.well-known/agent-card.json",
  ] as const;
  const routes: Route[] = paths.map((path) =>
    route(
      {
        method: "get",
        path,
        operationId: path,
        summary: path,
        tag: "x",
        access: { kind: "open" },
        responses: { 200: { description: "x" } },
      },
      () => json(200, {}),
    ),
  );
  const off = (flags: Parameters<typeof servedRoutes>[1]) => {
    const served = new Set(servedRoutes(routes, flags).map(({ spec }) => spec.path));
    return paths.filter((path) => !served.has(path));
  };

  test.each([
    [undefined, []],
    [{ disable_threads: false }, []],
    [{ disable_meta: true }, ["/info", "/metrics"]],
    [{ disable_threads: true }, ["/threads", "/threads/{thread_id}/state"]],
    [
      { disable_runs: true },
      ["/threads/{thread_id}/runs", "/threads/{thread_id}/runs/crons", "/runs/stream"],
    ],
    [{ disable_assistants: true, disable_store: true }, ["/assistants/search", "/store/items"]],
    [
      { disable_mcp: true, disable_a2a: true },
      ["/mcp", "/a2a/{assistant_id}", "/.well-known/agent-card.json"],
    ],
  ])("%j: %j", (flags, expected) => {
    expect(off(flags)).toEqual(expected);
  });
});
