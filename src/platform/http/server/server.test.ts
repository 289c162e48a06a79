import { once } from "node:events";
import { Agent, request } from "node:http";
import { type AddressInfo, connect, createServer as createTcpServer } from "node:net";
import { afterEach, describe, expect, it } from "vitest";
import { z } from "zod";
import { createLogger } from "../../logger.ts";
import { Metrics } from "../../metrics.ts";
import { createHttpApp } from "../pipeline/http-app.ts";
import { json, type Route, type RouteSpec } from "../route.ts";
import { type ListenOptions, listen, type RunningServer } from "./server.ts";

const logger = createLogger({ level: "silent" });
const running: RunningServer[] = [];
afterEach(async () => {
  await Promise.all(running.splice(0).map((server) => server.close({ graceMs: 0 })));
});

function spec(path: `/${string}`, more: Partial<RouteSpec> = {}): RouteSpec {
  return {
    method: "get",
    path,
    operationId: path,
    summary: "",
    tag: "t",
    access: { kind: "open" },
    responses: { 200: { description: "ok" } },
    ...more,
  };
}

async function start(routes: Route[], options: Partial<ListenOptions> = {}) {
  const http = createHttpApp({
    routes,
    authenticator: {
      authenticate: async () => null,
      loopbackCaller: () => Promise.reject(new Error("unused")),
    },
    agentAuthRequired: true,
    logger,
    metrics: new Metrics({ processMetrics: false }),
    corsOrigins: [],
    documents: [],
    validateResponses: true,
  });
  const server = await listen(http, { host: "127.0.0.1", port: 0, logger, ...options });
  running.push(server);
  return server;
}

/** A route that answers when the test lets it. */
function gate(path: `/${string}`) {
  const entered = Promise.withResolvers<void>();
  const leave = Promise.withResolvers<void>();
  const route: Route = {
    spec: spec(path),
    handle: async () => {
      entered.resolve();
      await leave.promise;
      return json(200, { done: true });
    },
  };
  return { route, entered: entered.promise, leave: leave.resolve };
}

/** Sends bytes as they are and returns all that comes back. */
async function sendRaw(port: number, text: string): Promise<string> {
  const socket = connect(port, "127.0.0.1");
  socket.end(text);
  let received = "";
  socket.on("data", (chunk) => {
    received += chunk;
  });
  await once(socket, "close");
  return received;
}

describe("serving", () => {
  it("answers over the network with all headers", async () => {
    const server = await start([{ spec: spec("/ok"), handle: () => json(200, { ok: true }) }]);
    const response = await fetch(`${server.url}/ok`);
    expect(await response.json()).toEqual({ ok: true });
    expect(response.headers.get("x-content-type-options")).toBe("nosniff");
    expect(response.headers.get("x-request-id")).toMatch(/^[0-9a-f-]{36}$/);
    expect((await fetch(`${server.url}/ok`, { method: "HEAD" })).status).toBe(200);
  });
  it("reads bodies with and without a length, and stops at the limit", async () => {
    const routes: Route[] = [
      {
        spec: spec("/in", { method: "post", body: z.looseObject({}), maxBodyBytes: 2000 }),
        handle: ({ body }) => json(200, body),
      },
    ];
    const server = await start(routes);
    const send = (body: string | ReadableStream, headers: Record<string, string> = {}) =>
      fetch(`${server.url}/in`, { method: "POST", body, headers, duplex: "half" } as RequestInit);
    const asJson = { "content-type": "application/json" };
    const stream = (pieces: string[]) =>
      new ReadableStream({
        start(controller) {
          for (const piece of pieces) controller.enqueue(new TextEncoder().encode(piece));
          controller.close();
        },
      });
    // fetch adds text/plain for a string, and nothing for a stream.
    expect((await send("{}")).status).toBe(415);
    expect((await send(stream(["{}"]))).status).toBe(415);
    expect(await (await send(stream(['{"a":', "1}"]), asJson)).json()).toEqual({ a: 1 });
    expect((await send(stream(["[", " ".repeat(3000)]), asJson)).status).toBe(413);
    const declared = await sendRaw(
      server.port,
      "POST /in HTTP/1.1\r\nHost: localhost\r\nContent-Length: 999999\r\n\r\n",
    );
    expect(declared).toMatch(/^HTTP\/1.1 413 [\s\S]*connection: close/i);
  });
  it("answers 400 to what is no request", async () => {
    const server = await start([{ spec: spec("/ok"), handle: () => json(200, { ok: true }) }]);
    expect(await sendRaw(server.port, "nonsense\r\n\r\n")).toMatch(/^HTTP\/1.1 400/);
    expect(await sendRaw(server.port, "GET /ok HTTP/1.1\r\nHost: a b\r\nConnection: close\r\n\r\n")).toMatch(
      /^HTTP\/1.1 400[\s\S]*detail/,
    );
    expect(
      await sendRaw(server.port, `GET /ok HTTP/1.1\r\nHost: x\r\nX-Big: ${"a".repeat(20_000)}\r\n\r\n`),
    ).toMatch(/^HTTP\/1.1 431/);
    expect((await fetch(`${server.url}/ok`)).status).toBe(200);
  });
  it("passes upgrades on, and refuses them without a taker", async () => {
    const upgrade = "GET /ws?x=1 HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: test\r\n\r\n";
    const plain = await start([]);
    expect(await sendRaw(plain.port, upgrade)).toMatch(/^HTTP\/1.1 426/);
    const taking = await start([], {
      onUpgrade: (incoming, socket) => socket.end(`HTTP/1.1 101 OK\r\n\r\nfor ${incoming.url}`),
    });
    expect(await sendRaw(taking.port, upgrade)).toContain("for /ws?x=1");
  });
});

describe("a taken port", () => {
  it("names the setting", async () => {
    const other = createTcpServer().listen(0, "127.0.0.1");
    await once(other, "listening");
    const { port } = other.address() as AddressInfo;
    await expect(start([], { port })).rejects.toMatchObject({
      code: "server.port_taken",
      message: expect.stringMatching(new RegExp(`${port}.*TREADLE_PORT`)),
    });
    other.close();
  });
  it("names a foreign address", async () => {
    await expect(start([], { host: "203.0.113.1" })).rejects.toMatchObject({
      code: "server.address_unavailable",
    });
  });
});

describe("stopping", () => {
  it("waits for running requests and refuses new ones", async () => {
    const slow = gate("/slow/{id}");
    const server = await start([slow.route]);
    const answer = fetch(`${server.url}/slow/1`);
    await slow.entered;
    const closing = server.close({ graceMs: 60_000 });
    const refused = await new Promise<object>((resolve, reject) => {
      request(`${server.url}/slow/2`, { method: "POST" }, ({ statusCode: status, headers }) =>
        resolve({ status, connection: headers.connection, code: headers["x-error-code"] }),
      )
        .on("error", reject)
        .end("x".repeat(60_000));
    });
    expect(refused).toEqual({ status: 503, connection: "close", code: "server.leaving" });
    slow.leave();
    expect(await (await answer).json()).toEqual({ done: true });
    expect(await closing).toEqual({ interrupted: [] });
    await expect(fetch(`${server.url}/slow/3`)).rejects.toThrow();
  });
  it.each([
    ["without an end", "transfer-encoding: chunked", `4000\r\n${"x".repeat(0x4000)}\r\n`],
    ["that does not come", "content-length: 10", ""],
  ])("refuses a request with a body %s, and ends the connection", async (_what, framing, chunk) => {
    const slow = gate("/slow");
    const server = await start([slow.route]);
    const answer = fetch(`${server.url}/slow`);
    await slow.entered;
    const closing = server.close({ graceMs: 60_000 });
    const socket = connect(server.port, "127.0.0.1");
    // Once it has closed, what is still sent is reset.
    socket.on("error", () => undefined);
    const closed = new Promise<void>((resolve) => socket.once("close", () => resolve()));
    socket.write(`POST /in HTTP/1.1\r\nhost: localhost\r\n${framing}\r\n\r\n`);
    const [head] = (await once(socket, "data")) as [Buffer];
    expect(String(head)).toMatch(/^HTTP\/1.1 503 [\s\S]*x-error-code: server.leaving/i);
    const sendOn = () => {
      if (chunk !== "" && !socket.destroyed) socket.write(chunk, () => setImmediate(sendOn));
    };
    sendOn();
    socket.resume();
    await closed;
    slow.leave();
    await answer;
    expect(await closing).toEqual({ interrupted: [] });
  });
  it("serves on while it takes leave, on kept and on new connections, and asks not to use them again", async () => {
    const slow = gate("/slow");
    const answers: Route = {
      spec: spec("/in", { method: "post", body: z.looseObject({}) }),
      handle: ({ body }) => json(200, body),
    };
    const server = await start([slow.route, answers]);
    const kept = new Agent({ keepAlive: true, maxSockets: 1 });
    const post = (agent: Agent | false) =>
      new Promise<{ status?: number; connection?: string }>((resolve, reject) => {
        const headers = { "content-type": "application/json" };
        const options = { method: "POST", headers, ...(agent ? { agent } : { agent: new Agent() }) };
        request(`${server.url}/in`, options, (response) => {
          response.resume();
          response.on("end", () =>
            resolve({ status: response.statusCode, connection: response.headers.connection }),
          );
        })
          .on("error", reject)
          .end("{}");
      });
    expect(await post(kept)).toEqual({ status: 200, connection: "keep-alive" });
    const early = fetch(`${server.url}/slow`);
    await slow.entered;
    const left = server.takeLeave(300);
    expect(await post(kept)).toEqual({ status: 200, connection: "close" });
    expect(await post(false)).toEqual({ status: 200, connection: "close" });
    slow.leave();
    expect((await early).headers.get("connection")).toBe("close");
    await left;
    kept.destroy();
  });
  it("keeps idle connections: a request on one that is kept is refused with an answer, not cut", async () => {
    const slow = gate("/slow");
    const server = await start([slow.route, { spec: spec("/ok"), handle: () => json(200, { ok: true }) }]);
    const socket = connect(server.port, "127.0.0.1");
    const get = "GET /ok HTTP/1.1\r\nHost: localhost\r\n\r\n";
    socket.write(get);
    await once(socket, "data");
    const answer = fetch(`${server.url}/slow`);
    await slow.entered;
    const closing = server.close({ graceMs: 60_000 });
    socket.write(get);
    const [refused] = (await once(socket, "data")) as [Buffer];
    expect(String(refused)).toMatch(/^HTTP\/1.1 503 [\s\S]*connection: close/i);
    slow.leave();
    await answer;
    expect(await closing).toEqual({ interrupted: [] });
  });
  it("names what it interrupts after the grace", async () => {
    const slow = gate("/slow/{id}");
    const server = await start([slow.route]);
    const answer = fetch(`${server.url}/slow/1`).then(
      () => "answered",
      () => "cut off",
    );
    await slow.entered;
    expect(await server.close({ graceMs: 1 })).toEqual({ interrupted: ["GET /slow/{id}"] });
    expect(await answer).toBe("cut off");
    slow.leave();
  });
  it("tells long answers, which then end by themselves", async () => {
    const stream: Route = {
      spec: spec("/events", { responses: { 200: { description: "", contentType: "text/event-stream" } } }),
      handle: ({ shutdown }) => {
        const body = new ReadableStream({
          start(controller) {
            controller.enqueue(new TextEncoder().encode("event: hello\n\n"));
            shutdown.addEventListener("abort", () => {
              controller.enqueue(new TextEncoder().encode("event: bye\n\n"));
              controller.close();
            });
          },
        });
        return new Response(body, { headers: { "content-type": "text/event-stream" } });
      },
    };
    const server = await start([stream]);
    const response = await fetch(`${server.url}/events`);
    const text = response.text();
    expect(await server.close({ graceMs: 60_000 })).toEqual({ interrupted: [] });
    expect(await text).toBe("event: hello\n\nevent: bye\n\n");
  });
  it("ends upgraded connections that do not end themselves", async () => {
    const server = await start([], {
      onUpgrade: (_incoming, socket) => socket.write("HTTP/1.1 101 OK\r\n\r\n"),
    });
    const socket = connect(server.port, "127.0.0.1");
    socket.write("GET /ws HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: test\r\n\r\n");
    await once(socket, "data");
    const closed = once(socket, "close");
    expect(await server.close({ graceMs: 1 })).toEqual({ interrupted: ["UPGRADE /ws"] });
    await closed;
  });
  it("can be asked twice", async () => {
    const server = await start([]);
    expect(await Promise.all([server.close({ graceMs: 1 }), server.close({ graceMs: 1 })])).toEqual([
      { interrupted: [] },
      { interrupted: [] },
    ]);
  });
});
