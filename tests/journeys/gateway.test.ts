import { readdir } from "node:fs/promises";
import { request } from "node:http";
import type { Socket } from "node:net";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { WebSocket } from "ws";
import { waitUntil } from "../support/components/wait-until.ts";
import { type DeploymentSite, startDeploymentSite } from "../support/deployment-site.ts";
import { type DeploymentBody, deploy, gitDeployment } from "../support/deployments.ts";
import { quickInstall, quickProject } from "../support/quick-project.ts";

let site: DeploymentSite;
let plane: DeploymentSite["plane"];
let git: DeploymentSite["git"];
let database: DeploymentSite["database"];
let plain: DeploymentBody;
let guarded: DeploymentBody;

const app = `import { Hono } from "hono";
export const app = new Hono();
let left = 0;
app.get("/user", (c) => c.json({ uid: process.getuid() }));
app.get("/environment", (c) => c.json(process.env));
app.get("/left", (c) => c.json({ left }));
app.get("/headers", (c) => c.json(Object.fromEntries(c.req.raw.headers)));
app.get("/query", (c) => c.text(new URL(c.req.url).search));
app.get("/redirect", (c) => c.redirect("/query?x=1"));
app.get("/cookies", (c) => { c.header("set-cookie", "a=1", { append: true }); c.header("set-cookie", "b=2", { append: true }); return c.text("ok"); });
app.get("/teapot", (c) => c.text("short and stout", 418));
app.post("/echo", async (c) => c.body(await c.req.arrayBuffer()));
app.get("/endless", (c) => {
  const body = new ReadableStream({
    start(controller) { controller.enqueue(new TextEncoder().encode("data: first\\n\\n")); },
    cancel() { left += 1; },
  });
  return new Response(body, { headers: { "content-type": "text/event-stream" } });
});
`;
const auth = `import { Auth, HTTPException } from "@langchain/langgraph-sdk/auth";
export const auth = new Auth().authenticate(async (request) => {
  const user = request.headers.get("authorization")?.replace("Bearer ", "");
  if (user !== "somebody") throw new HTTPException(401, { message: "who are you?" });
  return { identity: user, permissions: [] };
});
`;

beforeAll(async () => {
  site = await startDeploymentSite("gateway", { folderMode: 0o711, agentAuthRequired: true });
  ({ plane, git, database } = site);
  const make = async (name: string, files: Record<string, string>) => {
    const repository = await git.createRepository(name, quickProject(name, files));
    const source_config = { repo_url: repository.url, install_command: quickInstall };
    const { deployment, revision } = await deploy(
      plane,
      gitDeployment(name, repository.url, { source_config }),
    );
    expect([revision.status, revision.status_message]).toEqual(["DEPLOYED", expect.any(String)]);
    return deployment;
  };
  plain = await make("plain", { "app.js": app });
  guarded = await make("guarded", {
    "auth.js": auth,
    "langgraph.json": JSON.stringify({
      graphs: { echo: "./graph.js:graph" },
      auth: { path: "./auth.js:auth" },
      http: { app: "./app.js:app", cors: { allow_origins: ["https://app.example.com"] } },
    }),
    "app.js": app,
  });
});

afterAll(async () => {
  await site?.stop();
});

const get = (path: string, init: RequestInit = {}) =>
  fetch(`${plain.url}${path}`, {
    ...init,
    headers: { "x-api-key": plane.apiKey, "x-tenant-id": plane.workspaceId, ...init.headers },
  });

describe("who may enter", () => {
  it("asks for the platform's key, and passes it to nobody", async () => {
    expect((await fetch(`${plain.url}/headers`)).status).toBe(401);
    expect(
      (await fetch(`${plain.url}/headers`, { headers: { "x-api-key": "wrong-key-0123456789" } })).status,
    ).toBe(401);
    const headers = (await (await get("/headers")).json()) as Record<string, string>;
    expect(headers).toMatchObject({
      "x-forwarded-prefix": `/d/${plain.slug}`,
      "x-forwarded-for": expect.stringContaining("127.0.0.1"),
    });
    expect(JSON.stringify(headers)).not.toContain(plane.apiKey);
  });

  it("keeps other workspaces out, and viewers from writing", async () => {
    const other = await plane.call<{ id: string }>("POST", "/v2/workspaces", { name: "Other" });
    expect((await get("/headers", { headers: { "x-tenant-id": other.body.id } })).status).toBe(404);
    const viewer = await plane.call<{ key: string }>("POST", "/v2/api-keys", {
      name: "viewer",
      role: "viewer",
    });
    const headers = { "x-api-key": viewer.body.key };
    expect((await get("/headers", { headers })).status).toBe(200);
    expect((await get("/echo", { method: "POST", body: "x", headers })).status).toBe(403);
    const search = {
      method: "POST",
      body: "{}",
      headers: { ...headers, "content-type": "application/json" },
    };
    expect((await get("/assistants/search", search)).status).toBe(200);
  });

  it("leaves the decision to a project that brings its own authentication", async () => {
    const ask = (authorization?: string) =>
      fetch(`${guarded.url}/threads`, {
        method: "POST",
        headers: { "content-type": "application/json", ...(authorization ? { authorization } : {}) },
        body: "{}",
      });
    expect((await ask()).status).toBe(401);
    expect((await ask("Bearer nobody")).status).toBe(401);
    expect((await ask("Bearer somebody")).status).toBe(200);
  });

  it("asks WebSockets the same", async () => {
    const status = (url: string, headers: Record<string, string>) =>
      new Promise<number>((resolve) => {
        const socket = new WebSocket(url, { headers });
        socket.once("unexpected-response", (_request, response) => resolve(response.statusCode ?? 0));
        socket.once("error", () => undefined);
        socket.once("open", () => {
          socket.close();
          resolve(101);
        });
      });
    const made = await get("/threads", {
      method: "POST",
      body: "{}",
      headers: { "content-type": "application/json" },
    });
    const { thread_id } = (await made.json()) as { thread_id: string };
    const url = `${plain.url.replace("http", "ws")}/threads/${thread_id}/stream`;
    expect(await status(url, {})).toBe(401);
    expect(await status(url, { "x-api-key": plane.apiKey, "x-tenant-id": plane.workspaceId })).toBe(101);
    expect(
      await status(`${plane.url.replace("http", "ws")}/d/nothing/x`, {
        "x-api-key": plane.apiKey,
        "x-tenant-id": plane.workspaceId,
      }),
    ).toBe(404);
  });
});

describe("a project that brings its own authentication", () => {
  const search = (headers: Record<string, string>) =>
    fetch(`${guarded.url}/threads/search`, {
      method: "POST",
      headers: { "content-type": "application/json", ...headers },
      body: "{}",
    });

  it("is not opened by a header that anybody can write", async () => {
    for (const name of ["x-auth-scheme", "x_auth_scheme"])
      expect((await search({ [name]: "langsmith" })).status).toBe(401);
    expect((await search({ "x-auth-scheme": "langsmith", "x-treadle-caller": "operator" })).status).toBe(401);
    expect((await search({ "x-auth-scheme": "langsmith", "x-api-key": "wrong-key-0123456789" })).status).toBe(
      401,
    );
  });

  it("is opened by it together with a key of the workspace", async () => {
    const own = { "x-api-key": plane.apiKey, "x-tenant-id": plane.workspaceId };
    expect((await search({ "x-auth-scheme": "langsmith", ...own })).status).toBe(200);
    const other = await plane.call<{ id: string }>("POST", "/v2/workspaces", { name: "Elsewhere" });
    const foreign = { "x-api-key": plane.apiKey, "x-tenant-id": other.body.id };
    expect((await search({ "x-auth-scheme": "langsmith", ...foreign })).status).toBe(401);
  });

  it("sees its own credentials, and never the platform's", async () => {
    const seenWith = async (headers: Record<string, string>) =>
      (await (await fetch(`${guarded.url}/headers`, { headers })).json()) as Record<string, string>;
    const cookie = "mine=1; treadle_session=s; __Host-treadle_session=t";
    expect(await seenWith({ authorization: "Bearer somebody", "x-api-key": "my-own", cookie })).toMatchObject(
      {
        authorization: "Bearer somebody",
        "x-api-key": "my-own",
        cookie: "mine=1",
      },
    );
    const { body: session } = await plane.call<{ token: string }>("POST", "/v2/auth/sessions", {});
    const { token } = session;
    expect(token).not.toBe("");
    for (const credential of [plane.apiKey, "trk_revoked-or-mistyped-0123456789", token]) {
      for (const headers of [
        { "x-api-key": credential },
        { authorization: `Bearer ${credential}` },
      ] as Record<string, string>[]) {
        const seen = JSON.stringify(await seenWith({ ...headers, "x-tenant-id": plane.workspaceId }));
        expect(seen).not.toContain(credential);
        expect(seen).not.toContain(plane.workspaceId);
      }
    }
  });
});

describe("an origin of its own", () => {
  const ask = (path: string, headers: Record<string, string> = {}) =>
    new Promise<{ status: number; headers: Record<string, unknown>; text: string }>((resolve, reject) => {
      const { port } = new URL(plane.url);
      const all = { host: `${plain.slug}.localhost:${port}`, ...headers };
      request({ host: "127.0.0.1", port, path, headers: all }, (response) => {
        let text = "";
        response.on("data", (chunk) => {
          text += chunk;
        });
        response.on("end", () =>
          resolve({ status: response.statusCode ?? 0, headers: response.headers, text }),
        );
      })
        .once("error", reject)
        .end();
    });
  const key = () => ({ "x-api-key": plane.apiKey, "x-tenant-id": plane.workspaceId });

  it("serves the deployment without a prefix and without the sandbox, and nothing of the platform", async () => {
    const page = await ask("/headers", key());
    expect(page.status).toBe(200);
    expect(page.headers["content-security-policy"]).toBeUndefined();
    expect(JSON.parse(page.text)).not.toHaveProperty("x-forwarded-prefix");
    expect((await ask("/redirect", key())).headers.location).toBe("/query?x=1");
    expect((await ask("/v2/deployments", key())).status).toBe(404);
    expect((await ask("/headers")).status).toBe(401);
    expect((await ask("/headers", { ...key(), host: "nobody.localhost" })).status).toBe(404);
    expect((await ask("/v2/deployments", { ...key(), host: "a.b.localhost" })).status).toBe(404);
    expect((await ask("/x/%2e%2e/headers", key())).status).toBe(400);
  });

  it("is where pages live; under a path they are sandboxed", async () => {
    const answer = await get("/teapot");
    expect(answer.headers.get("content-security-policy")).toMatch(/^sandbox /);
    expect(answer.headers.get("x-content-type-options")).toBe("nosniff");
    expect((await get("/teapot", { headers: { "service-worker": "script" } })).status).toBe(403);
  });
});

describe("the secret of a started server", () => {
  it("keeps everybody else from its port, and is told to nobody", async () => {
    const [row] = await database.database.query<{ port: number; secret_sealed: string }>(
      {
        name: "test_secret",
        text: "select port, secret_sealed from deployment_instances where deployment_id = $1 and state = 'ready'",
      },
      [plain.id],
    );
    for (const path of ["/ok", "/info", "/headers", "/threads/search"]) {
      for (const headers of [{}, { "x-treadle-instance-secret": "guessed" }] as Record<string, string>[])
        expect((await fetch(`http://127.0.0.1:${row!.port}${path}`, { headers })).status).toBe(403);
    }
    const seen = (await (await get("/headers")).json()) as Record<string, string>;
    expect(seen).not.toHaveProperty("x-treadle-instance-secret");
    expect(await (await get("/environment")).json()).not.toHaveProperty("TREADLE_INSTANCE_SECRET");
    expect(row!.secret_sealed.length).toBeGreaterThan(60);
  });
});

describe("WebSockets that are reset", () => {
  it("leave no descriptor behind", { timeout: 60_000 }, async () => {
    const json = { "content-type": "application/json" };
    const made = await get("/threads", { method: "POST", body: "{}", headers: json });
    const { thread_id } = (await made.json()) as { thread_id: string };
    const url = `${plain.url.replace("http", "ws")}/threads/${thread_id}/stream`;
    const headers = { "x-api-key": plane.apiKey, "x-tenant-id": plane.workspaceId };
    const count = async () => (await readdir("/proc/self/fd")).length;
    const reset = () =>
      new Promise<void>((resolve, reject) => {
        const socket = new WebSocket(url, { headers });
        socket.once("error", reject);
        socket.once("open", () => {
          socket.off("error", reject);
          socket.on("error", () => undefined);
          socket.once("close", () => resolve());
          (socket as unknown as { _socket: Socket })._socket.resetAndDestroy();
        });
      });
    await reset();
    const before = await count();
    for (let round = 0; round < 10; round += 1) await Promise.all(Array.from({ length: 10 }, reset));
    await waitUntil(async () => (await count()) <= before + 10, {
      what: "the connections to be closed",
      timeoutMs: 10_000,
    });
  });
});

describe("the server behind it", () => {
  it("runs as a user of its own, where the platform is root", async () => {
    const { uid } = (await (await get("/user")).json()) as { uid: number };
    if (process.getuid?.() === 0) expect(uid).toBeGreaterThanOrEqual(300_000);
    else expect(uid).toBe(process.getuid?.());
  });
});

describe("what passes", () => {
  it("queries, statuses, cookies, redirects and bodies as they are", async () => {
    expect(await (await get("/query?a=1&a=2&b=%20x")).text()).toBe("?a=1&a=2&b=%20x");
    const teapot = await get("/teapot");
    expect([teapot.status, await teapot.text()]).toEqual([418, "short and stout"]);
    expect((await get("/cookies")).headers.getSetCookie()).toEqual([
      `a=1; Path=/d/${plain.slug}`,
      `b=2; Path=/d/${plain.slug}`,
    ]);
    expect((await get("/redirect", { redirect: "manual" })).headers.get("location")).toBe(
      `/d/${plain.slug}/query?x=1`,
    );
    const bytes = crypto.getRandomValues(new Uint8Array(60_000));
    const echo = await get("/echo", { method: "POST", body: bytes });
    expect(new Uint8Array(await echo.arrayBuffer())).toEqual(bytes);
    const head = await get("/headers", { method: "HEAD" });
    expect([head.status, await head.text()]).toEqual([200, ""]);
    expect((await get("/missing-path")).status).toBe(404);
    expect((await get("")).status).toBeLessThan(500);
  });

  it("streams at once, and tells the server when the reader leaves", async () => {
    const stop = new AbortController();
    const response = await get("/endless", { signal: stop.signal });
    const reader = response.body!.getReader();
    expect(new TextDecoder().decode((await reader.read()).value)).toBe("data: first\n\n");
    stop.abort();
    await waitUntil(async () => ((await (await get("/left")).json()) as { left: number }).left === 1, {
      what: "the server to hear of it",
      timeoutMs: 10_000,
    });
  });

  it("refuses a body that is too large, declared or not", async () => {
    const post = (headers: Record<string, string>, write: (send: (chunk: Buffer) => boolean) => void) =>
      new Promise<number>((resolve, reject) => {
        const url = new URL(`${plain.url}/echo`);
        const outgoing = request(url, {
          method: "POST",
          headers: { "x-api-key": plane.apiKey, "x-tenant-id": plane.workspaceId, ...headers },
        });
        outgoing.once("response", (response) => {
          response.resume();
          resolve(response.statusCode ?? 0);
        });
        outgoing.once("error", reject);
        write((chunk) => outgoing.write(chunk));
        outgoing.end();
      });
    expect(await post({ "content-length": String(30 * 1024 * 1024) }, () => undefined).catch(() => 413)).toBe(
      413,
    );
    const chunk = Buffer.alloc(1024 * 1024);
    const status = await post({}, (send) => {
      for (let index = 0; index < 30; index += 1) send(chunk);
    });
    expect(status).toBe(413);
    expect((await get("/teapot")).status).toBe(418);
  });
});

describe("pages of other sites", () => {
  const origin = "https://app.example.com";

  it("are judged by a project that brings its own authentication, also before they ask", async () => {
    const preflight = await fetch(`${guarded.url}/threads`, {
      method: "OPTIONS",
      headers: { origin, "access-control-request-method": "POST" },
    });
    expect([preflight.status, preflight.headers.get("access-control-allow-origin")]).toEqual([204, origin]);
    const answer = await fetch(`${guarded.url}/threads`, {
      method: "POST",
      headers: { origin, authorization: "Bearer somebody", "content-type": "application/json" },
      body: "{}",
    });
    expect([answer.status, answer.headers.get("access-control-allow-origin")]).toEqual([200, origin]);
  });

  it("are judged by the platform for the others, whose code still learns of them", async () => {
    const answer = await get("/headers", { headers: { origin } });
    expect(answer.headers.get("access-control-allow-origin")).toBeNull();
    const seen = (await answer.json()) as Record<string, string>;
    expect([seen.origin, seen["x-forwarded-origin"]]).toEqual([undefined, origin]);
    const local = await get("/headers", { headers: { origin: "http://localhost:5173" } });
    expect(await local.json()).toMatchObject({ origin: "http://localhost:5173" });
  });
});

describe("paths that could be read in two ways", () => {
  it("are refused", async () => {
    const status = (path: string) =>
      new Promise<number>((resolve, reject) => {
        const { hostname, port } = new URL(plain.url);
        const headers = { "x-api-key": plane.apiKey, "x-tenant-id": plane.workspaceId };
        const outgoing = request({ hostname, port, path, method: "POST", headers }, (response) => {
          response.resume();
          resolve(response.statusCode ?? 0);
        });
        outgoing.once("error", reject);
        outgoing.end();
      });
    expect(await status(`/d/${plain.slug}/echo/%2e%2e/search`)).toBe(400);
    expect(await status(`/d/${plain.slug}/echo`)).toBe(200);
  });
});

describe("purging", () => {
  it("drops the database and everything else of a deployment that was deleted by force", {
    timeout: 60_000,
  }, async () => {
    const named = async () => {
      const rows = await database.database.query<{ count: number }>(
        {
          name: "test_5",
          text: "select count(*)::int as count from pg_database where datname = 'treadle_d_' || replace($1, '-', '')",
        },
        [guarded.id],
      );
      return rows[0]!.count;
    };
    expect(await named()).toBe(1);
    expect((await plane.call("DELETE", `/v2/deployments/${guarded.id}`)).status).toBe(204);
    expect((await plane.call("DELETE", `/v2/deployments/${guarded.id}?force=true`)).status).toBe(204);
    const purge = plane.recurring.find(({ kind }) => kind === "control_plane.maintain")!;
    await waitUntil(
      async () => {
        await purge.handler({ signal: new AbortController().signal } as never);
        return (await named()) === 0;
      },
      { what: "the database to be dropped", timeoutMs: 20_000, intervalMs: 300 },
    );
    const rows = await database.database.query<object>(
      { name: "test_6", text: "select 1 from deployments where id = $1" },
      [guarded.id],
    );
    expect(rows).toEqual([]);
  });
});
