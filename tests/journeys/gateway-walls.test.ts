import { readdir } from "node:fs/promises";
import { request } from "node:http";
import type { Socket } from "node:net";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { WebSocket } from "ws";
import { waitUntil } from "../support/components/wait-until.ts";
import { type GatewaySite, startGatewaySite } from "../support/gateway-site.ts";
import { createPageVisitor, opens } from "../support/page-visitor.ts";

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

  it("signs people in itself: no browser is sent to the console from its pages", async () => {
    const visitor = createPageVisitor(new URL(plane.url).port);
    const thread = `/threads/${crypto.randomUUID()}`;
    const answer = await visitor.ask(guarded.slug, thread, opens);
    expect([answer.status, answer.text]).toEqual([401, expect.stringContaining("who are you?")]);
    expect(answer.headers.getSetCookie()).toEqual([]);
    const entry = await visitor.ask(guarded.slug, "/.treadle/enter?code=a&state=b", opens);
    expect([entry.headers.get("location"), entry.headers.get("content-type")]).toEqual([
      null,
      expect.not.stringContaining("text/html"),
    ]);
    // The neighbour without its own does send them.
    expect((await visitor.ask(plain.slug, thread, opens)).status).toBe(303);
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
        { x_api_key: credential },
        // As it arrives when it was sent twice.
        { "x-api-key": `my-own, ${credential}` },
        { authorization: `Bearer my-own, bearer ${credential}` },
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
