import { createServer, type RequestListener, request, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, expect, test } from "vitest";
import { WebSocket, WebSocketServer } from "ws";
import { FrontDoor } from "./front-door.ts";

const closers: (() => Promise<unknown> | unknown)[] = [];

afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close();
});

async function open(): Promise<{ door: FrontDoor; url: string }> {
  const door = new FrontDoor();
  const port = await door.open({ host: "127.0.0.1", port: 0 });
  closers.push(() => door.close());
  return { door, url: `http://127.0.0.1:${port}` };
}

/** What stands behind the door. */
async function serve(listener: RequestListener): Promise<{ port: number; server: Server }> {
  const server = createServer(listener);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  closers.push(() => {
    server.closeAllConnections();
    return new Promise((resolve) => server.close(resolve));
  });
  return { port: (server.address() as AddressInfo).port, server };
}

test("requests go to the generation that serves when they come, on one connection", async () => {
  const { door, url } = await open();
  const first = await serve((_request, response) => response.end("first"));
  const second = await serve((incoming, response) => {
    response.writeHead(
      201,
      [
        ["set-cookie", "a=1"],
        ["set-cookie", "b=2"],
      ].flat(),
    );
    incoming.pipe(response);
  });
  door.leadTo(first.port);
  expect(await (await fetch(`${url}/x`)).text()).toBe("first");
  door.leadTo(second.port);
  const answer = await fetch(`${url}/y?z=1`, { method: "POST", body: "what was sent" });
  expect([answer.status, await answer.text()]).toEqual([201, "what was sent"]);
  expect(answer.headers.getSetCookie()).toEqual(["a=1", "b=2"]);
});

test("without a generation the answer is 503 with the reason, and comes again", async () => {
  const { door, url } = await open();
  door.leadNowhere("SyntaxError in agent.py, line 3");
  const answer = await fetch(url);
  expect(answer.status).toBe(503);
  expect(answer.headers.get("retry-after")).toBe("1");
  expect(await answer.json()).toEqual({ detail: "SyntaxError in agent.py, line 3" });
});

test("a generation that ends before it answers is 503, in the middle of an answer it is cut", async () => {
  const { door, url } = await open();
  const { port } = await serve((incoming, response) => {
    if (incoming.url === "/late") response.write("the beginning", () => response.destroy());
    else incoming.socket.destroy();
  });
  door.leadTo(port);
  expect((await fetch(`${url}/early`)).status).toBe(503);
  const late = await fetch(`${url}/late`);
  await expect(late.text()).rejects.toThrow();
});

test("who goes away is gone for the generation too", async () => {
  const { door, url } = await open();
  const gone = Promise.withResolvers<void>();
  const { port } = await serve((_incoming, response) => {
    response.write("begun");
    response.on("close", () => gone.resolve());
  });
  door.leadTo(port);
  const asked = request(url, (response) => response.once("data", () => asked.destroy()));
  asked.on("error", () => undefined);
  asked.end();
  await gone.promise;
});

test("what is on its way to the generation before is waited for", async () => {
  const { door, url } = await open();
  const held = Promise.withResolvers<() => void>();
  const { port } = await serve((_incoming, response) => held.resolve(() => response.end("late")));
  door.leadTo(port);
  const asked = fetch(url);
  const answer = await held.promise;
  let isSettled = false;
  const settled = door.settled(port, 60_000).then(() => {
    isSettled = true;
  });
  await new Promise(setImmediate);
  expect(isSettled).toBe(false);
  answer();
  expect(await (await asked).text()).toBe("late");
  await settled;
});

test("WebSockets are led through, both ways", async () => {
  const { door, url } = await open();
  const { port, server } = await serve(() => undefined);
  const sockets = new WebSocketServer({ server });
  sockets.on("connection", (socket) => socket.on("message", (data) => socket.send(`heard ${String(data)}`)));
  door.leadTo(port);
  const socket = new WebSocket(url.replace("http", "ws"));
  const heard = new Promise<string>((resolve, reject) => {
    socket.on("message", (data) => resolve(String(data)));
    socket.on("error", reject);
  });
  socket.on("open", () => socket.send("hello"));
  expect(await heard).toBe("heard hello");
  const closed = new Promise((resolve) => socket.on("close", resolve));
  for (const each of sockets.clients) each.terminate();
  await closed;
});
