import { request } from "node:http";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { WebSocket } from "ws";
import { waitUntil } from "../support/components/wait-until.ts";
import { type GatewaySite, startGatewaySite } from "../support/gateway-site.ts";

let gateway: GatewaySite;
let plane: GatewaySite["plane"];
let database: GatewaySite["database"];
let plain: GatewaySite["plain"];
let guarded: GatewaySite["guarded"];
let get: GatewaySite["get"];

beforeAll(async () => {
  gateway = await startGatewaySite();
  ({ plane, database, plain, guarded, get } = gateway);
});

afterAll(async () => {
  await gateway?.site.stop();
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

  it("takes JSON under any type from whoever brought a key, the platform's or the project's", async () => {
    const post = (url: string, headers: Record<string, string>) =>
      fetch(`${url}/threads`, { method: "POST", body: "{}", headers });
    const own = { "x-api-key": plane.apiKey, "x-tenant-id": plane.workspaceId };
    for (const type of ["text/plain;charset=UTF-8", "application/x-www-form-urlencoded"]) {
      expect((await post(plain.url, { ...own, "content-type": type })).status).toBe(200);
      const bearer = { authorization: "Bearer somebody", "content-type": type };
      expect((await post(guarded.url, bearer)).status).toBe(200);
    }
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
    const purge = plane.recurringJobs.find(({ kind }) => kind === "control_plane.maintain")!;
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
