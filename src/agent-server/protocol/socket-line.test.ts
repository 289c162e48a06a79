import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { WebSocket, WebSocketServer } from "ws";
import { createLogger } from "../../platform/logger.ts";
import { SocketLine } from "./socket-line.ts";

const logger = createLogger({ level: "silent" });
const megabyte = "x".repeat(1_000_000);

let stop: () => Promise<void>;
let client: WebSocket;
let server: WebSocket;

beforeEach(async () => {
  const http = createServer();
  const sockets = new WebSocketServer({ server: http });
  http.listen(0, "127.0.0.1");
  await once(http, "listening");
  const { port } = http.address() as AddressInfo;
  client = new WebSocket(`ws://127.0.0.1:${port}`);
  [server] = (await once(sockets, "connection")) as [WebSocket];
  await once(client, "open");
  stop = async () => {
    client.terminate();
    server.terminate();
    sockets.close();
    http.closeAllConnections();
    await new Promise((resolve) => http.close(resolve));
  };
});

afterEach(() => stop());

const nothing = async () => undefined;
const never = new AbortController().signal;

describe("sending", () => {
  it("waits for a client that does not read, and loses nothing when it does again", async () => {
    const line = new SocketLine(server, { shutdown: never, logger, receive: nothing });
    client.pause();
    let sent = 0;
    let most = 0;
    const sending = (async () => {
      for (; sent < 100; sent++) {
        await line.send(`${sent}:${megabyte}`);
        most = Math.max(most, server.bufferedAmount);
      }
    })();
    while (server.bufferedAmount <= 1_000_000) await new Promise(setImmediate);
    expect(sent).toBeLessThan(100);
    const order: number[] = [];
    client.on("message", (data) => order.push(Number.parseInt(String(data), 10)));
    client.resume();
    await sending;
    while (order.length < 100) await once(client, "message");
    expect(order).toEqual([...Array(100).keys()]);
    expect(most).toBeLessThan(2_500_000);
  });

  it("ends when the client is gone in the middle of it", async () => {
    const line = new SocketLine(server, { shutdown: never, logger, receive: nothing });
    client.pause();
    const sending = (async () => {
      for (let sent = 0; sent < 100; sent++) await line.send(megabyte);
    })();
    while (server.bufferedAmount <= 1_000_000) await new Promise(setImmediate);
    client.terminate();
    await sending;
    while (!line.signal.aborted) await new Promise(setImmediate);
  });
});

describe("receiving", () => {
  it("deals with messages one after another, in order", async () => {
    const seen: string[] = [];
    const turns: PromiseWithResolvers<void>[] = [];
    new SocketLine(server, {
      shutdown: never,
      logger,
      receive: async (text) => {
        seen.push(text);
        const turn = Promise.withResolvers<void>();
        turns.push(turn);
        await turn.promise;
      },
    });
    for (const text of ["one", "two", "three"]) client.send(text);
    for (const count of [1, 2, 3]) {
      while (seen.length < count) await new Promise(setImmediate);
      expect(seen).toHaveLength(count);
      turns[count - 1]!.resolve();
    }
    expect(seen).toEqual(["one", "two", "three"]);
  });

  it("closes a connection whose message breaks the server", async () => {
    new SocketLine(server, {
      shutdown: never,
      logger,
      receive: async () => {
        throw new Error("a defect");
      },
    });
    client.send("x");
    const [code] = (await once(client, "close")) as [number];
    expect(code).toBe(1011);
  });
});

it("says goodbye when the server stops", async () => {
  const shutdown = new AbortController();
  const line = new SocketLine(server, { shutdown: shutdown.signal, logger, receive: nothing });
  shutdown.abort();
  const [code] = (await once(client, "close")) as [number];
  expect(code).toBe(1001);
  while (!line.signal.aborted) await new Promise(setImmediate);
});
