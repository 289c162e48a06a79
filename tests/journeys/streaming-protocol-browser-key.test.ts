import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type ClientOptions, WebSocket } from "ws";
import { createTestApp, type TestApp } from "../support/app.ts";

let app: TestApp;
let url: string;

beforeAll(async () => {
  app = await createTestApp({ agentAuthRequired: true });
  url = await app.listen();
});

afterAll(async () => {
  await app?.stop();
});

const keyEntry = (key: string) => `treadle.key.${Buffer.from(key).toString("base64url")}`;

type Outcome = { status: number; protocol: string; answer?: unknown };

/** Opens a socket as a browser would: with protocols, and without headers of its own choice. */
function open(protocols: string[], options: ClientOptions = {}): Promise<Outcome> {
  const address = `${url.replace(/^http/, "ws")}/threads/${randomUUID()}/stream/events`;
  const socket = new WebSocket(address, protocols, options);
  const { promise, resolve, reject } = Promise.withResolvers<Outcome>();
  socket.once("open", () => {
    socket.send(
      JSON.stringify({ id: 1, method: "subscription.subscribe", params: { channels: ["values"] } }),
    );
  });
  socket.once("message", (data) => {
    resolve({ status: 101, protocol: socket.protocol, answer: JSON.parse(String(data)) });
    socket.close();
  });
  socket.once("unexpected-response", (request, response) => {
    resolve({ status: response.statusCode ?? 0, protocol: "" });
    request.destroy();
  });
  socket.once("error", reject);
  return promise;
}

describe("a browser, which can send no headers with a WebSocket", () => {
  it("names its key among the protocols, and the answer names another one", async () => {
    const { status, protocol, answer } = await open(["treadle.v1", keyEntry(app.apiKey)]);
    expect(status).toBe(101);
    expect(protocol).toBe("treadle.v1");
    expect(answer).toMatchObject({ type: "success", id: 1 });
  });

  it("gets no answer that repeats its key, wherever it stands", async () => {
    const { protocol } = await open([keyEntry(app.apiKey), "treadle.v1"]);
    expect(protocol).toBe("treadle.v1");
  });

  it("is refused without a key, and with a wrong one", async () => {
    expect((await open(["treadle.v1"])).status).toBe(401);
    expect((await open(["treadle.v1", keyEntry("wrong-key-wrong-key")])).status).toBe(401);
    expect((await open(["treadle.v1", "treadle.key.%%%"])).status).toBe(401);
  });

  it("is let in from a page of the same address, and refused from another site's", async () => {
    const protocols = ["treadle.v1", keyEntry(app.apiKey)];
    expect((await open(protocols, { origin: url })).status).toBe(101);
    expect((await open(protocols, { origin: "https://elsewhere.example" })).status).toBe(403);
    expect((await open(protocols, { origin: "null" })).status).toBe(403);
  });
});
