import { Hono } from "hono";
import { mount } from "hono/mount";
import { validator } from "hono/validator";
import { describe, expect, test } from "vitest";
import { caller } from "../../../tests/support/http-app-fixture.ts";
import { keepLogs } from "../../../tests/support/logged-lines.ts";
import { AppError } from "../../platform/errors.ts";
import type { Authorize } from "../../platform/http/pipeline/authorize.ts";
import { json, type Route, route } from "../../platform/http/route.ts";
import { createLogger } from "../../platform/logger.ts";
import type { HttpApp } from "../graphs/project-app.ts";
import { withCustomApp } from "./custom-app.ts";
import { withProjectApp } from "./custom-route-auth.ts";
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

/** Knows one key. */
const authorize: Authorize = async (_access, headers) => {
  if (headers.get("x-api-key") === "known") return caller("viewer");
  throw new AppError({ code: "auth.unauthenticated", kind: "unauthenticated", message: "Who are you?" });
};
const get = (path: string, headers: Record<string, string> = {}) =>
  new Request(`http://localhost${path}`, { headers });

describe("which comes first", () => {
  const seen: string[] = [];
  const app = new Hono();
  app.use("*", async (c, next) => {
    seen.push(c.req.path);
    await next();
  });
  app.get("/mine", (c) => c.text("mine"));

  test.each([
    [{}, "/threads", 200, "seen"],
    [{ middleware_order: "middleware_first" }, "/threads", 200, "seen"],
    [{ middleware_order: "middleware_first" }, "/mine", 200, "seen"],
    [{ middleware_order: "auth_first" }, "/threads", 401, "unseen"],
    [{ middleware_order: "auth_first" }, "/threads/1/runs", 401, "unseen"],
    [{ middleware_order: "auth_first" }, "/mine", 200, "seen"],
    [{ middleware_order: "auth_first" }, "/ok", 200, "seen"],
    [{ enable_custom_route_auth: true }, "/mine", 401, "unseen"],
    [{ enable_custom_route_auth: true }, "/ok", 200, "seen"],
    [{ enable_custom_route_auth: true, middleware_order: "auth_first" }, "/mine", 401, "unseen"],
    [{ enable_custom_route_auth: true, middleware_order: "middleware_first" }, "/mine", 401, "seen"],
    [{ enable_custom_route_auth: true, middleware_order: "middleware_first" }, "/ok", 200, "seen"],
    // These ask by themselves.
    [{ enable_custom_route_auth: true, middleware_order: "middleware_first" }, "/threads", 200, "seen"],
  ] as const)("with %j a stranger asks for %s: %i, %s by the middleware", async (http, path, status, how) => {
    seen.length = 0;
    const fetch = withProjectApp({ custom: app, own, http, authorize, logger });
    expect((await fetch(get(path))).status).toBe(status);
    expect(seen).toEqual(how === "seen" ? [path] : []);
    expect((await fetch(get(path, { "x-api-key": "known" }))).status).toBe(200);
  });
});

describe("middleware before authentication, routes behind it", () => {
  const asked: string[] = [];
  const http = { enable_custom_route_auth: true, middleware_order: "middleware_first" } as const;
  const front = (custom: HttpApp, more: Partial<Parameters<typeof withProjectApp>[0]> = {}) =>
    withProjectApp({
      ...{ custom, own, http, logger },
      authorize: (access, headers, host, request) => {
        asked.push(new URL(request!.url).pathname);
        return authorize(access, headers, host, request);
      },
      ...more,
    });
  const statusOf = async (fetch: ReturnType<typeof front>, path: string, method = "GET") =>
    (await fetch(new Request(`http://localhost${path}`, { method }))).status;

  test("a middleware answers strangers by itself, and gives a request the credential it lacks", async () => {
    const app = new Hono();
    app.use(async (c, next) => {
      if (c.req.header("cookie") === "many") return c.text("later", 429);
      if (c.req.header("cookie") === "session") {
        const headers = new Headers(c.req.raw.headers);
        headers.set("x-api-key", "known");
        c.req.raw = new Request(c.req.raw, { headers });
      }
      await next();
      c.res.headers.set("x-seen", "yes");
      return undefined;
    });
    app.get("/mine", (c) => c.text("mine"));
    const fetch = front(app);
    expect((await fetch(get("/mine", { cookie: "many" }))).status).toBe(429);
    const refused = await fetch(get("/mine"));
    expect([refused.status, refused.headers.get("x-seen")]).toEqual([401, "yes"]);
    expect(await refused.json()).toMatchObject({ detail: "Who are you?" });
    expect(await (await fetch(get("/mine", { cookie: "session" }))).text()).toBe("mine");
  });

  test("whatever answers for some paths only waits for the credential", async () => {
    const reached: string[] = [];
    const answer = (name: string) => {
      reached.push(name);
      return new Response(name);
    };
    const part = new Hono().onError((error) => new Response(error.message, { status: 418 }));
    part.all("/all", () => answer("part"));
    part.all("*", (c) => (c.req.path === "/part/rest" ? answer("rest") : c.notFound()));
    const app = new Hono();
    app.get("/get", async (_context, _next) => answer("get"));
    app.all("/all", () => answer("all"));
    app.use("/used/*", async () => answer("used"));
    app.on(["PURGE"], "/purged", () => answer("purge"));
    app.mount("/mounted", () => answer("mounted"));
    app.route("/part", part);
    app.basePath("/base").get("/x", () => answer("base"));
    const fetch = front(app);
    const paths = ["/get", "/all", "/used/it", "/mounted/it", "/part/all", "/part/rest", "/base/x"];
    for (const path of paths) expect([path, await statusOf(fetch, path)]).toEqual([path, 401]);
    expect(await statusOf(fetch, "/purged", "PURGE")).toBe(401);
    expect(await statusOf(fetch, "/get", "HEAD")).toBe(401);
    expect(reached).toEqual([]);
    for (const path of paths)
      expect([path, (await fetch(get(path, { "x-api-key": "known" }))).status]).toEqual([path, 200]);
    expect(reached).toEqual(["get", "all", "used", "mounted", "part", "rest", "base"]);
  });

  test.each([
    ["with the application's method", () => new Hono().mount("/", () => new Response("mounted"))],
    [
      "with the function of its own",
      () =>
        new Hono().all(
          "*",
          mount(() => new Response("mounted")),
        ),
    ],
    [
      "as a part with errors of its own",
      () =>
        new Hono().route(
          "/",
          new Hono().onError(() => new Response()).all("*", (c) => c.text("mounted")),
        ),
    ],
  ])("an application mounted at the root %s is no middleware", async (_, app) => {
    const fetch = front(app());
    expect(await statusOf(fetch, "/mine")).toBe(401);
    expect(await (await fetch(get("/mine", { "x-api-key": "known" }))).text()).toBe("mounted");
  });

  /** Another version of the framework, by how it mounts. */
  function versionThatMounts(mount: ((this: Hono) => unknown) | undefined): Hono {
    class Version extends Hono {}
    Object.defineProperty(Version.prototype, "mount", { value: mount });
    return new Version();
  }
  const pass = (_c: unknown, next: () => Promise<void>) => next();
  const passToo = async (_c: unknown, next: () => Promise<void>) => void (await next());

  test.each([
    ["adds no route", () => undefined],
    [
      "with other code each time",
      function (this: Hono) {
        this.all("*", this.routes.length === 0 ? pass : passToo);
      },
    ],
    [
      "with code that cannot be read",
      function (this: Hono) {
        this.all("*", pass.bind(undefined));
      },
    ],
  ])(
    "a version of Hono that mounts otherwise (%s) is behind authentication as a whole, and the log says so",
    async (_, mounts) => {
      const { text, logger } = keepLogs();
      const reached: string[] = [];
      const app = versionThatMounts(mounts);
      app.use("*", (c, next) => {
        reached.push(c.req.path);
        return next();
      });
      app.get("/mine", (c) => c.text("mine"));
      const fetch = front(app, { logger });
      expect(await statusOf(fetch, "/mine")).toBe(401);
      expect(reached).toEqual([]);
      expect(await (await fetch(get("/mine", { "x-api-key": "known" }))).text()).toBe("mine");
      expect(text()).toContain("of a version unknown to the server");
    },
  );

  test("a version of Hono that mounts nothing keeps its middleware in front", async () => {
    const app = versionThatMounts(undefined);
    app.use(async (c, _next) => c.text("later", 429));
    app.get("/mine", (c) => c.text("mine"));
    expect(await statusOf(front(app), "/mine")).toBe(429);
  });

  test("a request is asked once, however many handlers it passes, and a preflight never", async () => {
    const app = new Hono();
    app.use("/mine/*", (_, next) => next());
    app.get(
      "/mine/:id",
      validator("query", (value) => value),
      (c) => c.text(c.req.param("id")),
    );
    app.options("/mine/:id", (c) => c.body(null, 204));
    const fetch = front(app);
    asked.length = 0;
    expect(await (await fetch(get("/mine/7", { "x-api-key": "known" }))).text()).toBe("7");
    expect(asked).toEqual(["/mine/7"]);
    expect(await statusOf(fetch, "/mine/7", "OPTIONS")).toBe(204);
    expect(asked).toEqual(["/mine/7"]);
  });

  test("errors, parameters and bodies are the application's as before", async () => {
    const app = new Hono({ strict: false });
    app.onError((error, c) => c.text(`caught ${error.message}`, 418));
    app.post("/fails/:why", async (c) => {
      throw new Error(`${c.req.param("why")} ${await c.req.text()}`);
    });
    const fetch = front(app, { authorize: async () => caller("viewer") });
    const answer = await fetch(post("/fails/twice/", "now"));
    expect([answer.status, await answer.text()]).toEqual([418, "caught twice now"]);
    expect(await (await fetch(post("/yours", "b"))).text()).toBe("own /yours b");
  });

  test("an application that is not of Hono is behind authentication as a whole, and the log says so", async () => {
    const { text, logger } = keepLogs();
    const reached: string[] = [];
    const custom = {
      fetch: (request: Request) => {
        reached.push(request.url);
        return new Response("mine");
      },
    };
    expect(await statusOf(front(custom, { logger }), "/mine")).toBe(401);
    expect(reached).toEqual([]);
    expect(text()).toContain("http.app is not a Hono application");
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
