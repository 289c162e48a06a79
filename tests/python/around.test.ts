import type { IncomingMessage } from "node:http";
import { text } from "node:stream/consumers";
import type { Client } from "@langchain/langgraph-sdk";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { WebSocket } from "ws";
import { createTestDatabase, type TestDatabase } from "../support/database.ts";
import { clientOf, guarded, type PythonAgent, startPythonAgent } from "./python-agent.ts";

let database: TestDatabase;
let agent: PythonAgent;
let ann: Client;
let ben: Client;

beforeAll(async () => {
  database = await createTestDatabase();
  agent = await startPythonAgent(database, {}, guarded);
  ann = clientOf(agent.ready.url, { authorization: "Bearer token-ann" });
  ben = clientOf(agent.ready.url, { authorization: "Bearer token-ben" });
});
afterAll(async () => {
  await agent?.process.stop();
  await database?.drop();
});

const get = (path: string, init: RequestInit = {}) => fetch(`${agent.ready.url}${path}`, init);

describe("a project's own auth in Python", () => {
  it("refuses strangers in its own words", async () => {
    const response = await get("/threads/search", {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: "{}",
    });
    expect(response.status).toBe(401);
    expect(await response.text()).toContain("A token, please");
  });

  it("hides one's threads from others, and what it adds to them is stored", async () => {
    const thread = await ann.threads.create({ metadata: { topic: "tea" } });
    expect(thread.metadata).toMatchObject({ topic: "tea", owner: "ann" });
    expect((await ann.threads.search()).map(({ thread_id }) => thread_id)).toContain(thread.thread_id);
    expect((await ben.threads.search()).map(({ thread_id }) => thread_id)).not.toContain(thread.thread_id);
    await expect(ben.threads.get(thread.thread_id)).rejects.toThrow("404");
    await expect(ben.runs.wait(thread.thread_id, "echo", { input: { text: "x" } })).rejects.toThrow("404");
  });

  it("tells nodes who asks, and refuses by returning false", async () => {
    const thread = await ben.threads.create();
    expect(await ben.runs.wait(thread.thread_id, "echo", { input: { text: "hi" } })).toMatchObject({
      text: "You said: hi",
      user: "ben",
    });
    await expect(ben.store.putItem(["a"], "k", { text: "x" })).rejects.toThrow("403");
  });
});

describe("a project's own application in Python", () => {
  it("answers its routes, with query, body and a stream", async () => {
    const hello = await get("/hello/ann?loud=true");
    expect([hello.status, await hello.json()]).toEqual([200, { hello: "ANN", pooled: true }]);
    const size = await get("/size", { method: "POST", body: "x".repeat(3_000_000) });
    expect(await size.json()).toEqual({ size: 3_000_000 });
    expect(await (await get("/lines")).text()).toBe("line 0\nline 1\nline 2\n");
  });

  it("has its middleware around the server's routes too, which ask for a credential as ever", async () => {
    const info = await get("/info");
    expect(info.headers.get("x-marked")).toBe("yes");
    expect(await info.json()).toHaveProperty("langgraph_py_version");
    const refused = await get("/threads/search", { method: "POST", body: "{}" });
    expect([refused.status, refused.headers.get("x-marked")]).toEqual([401, "yes"]);
  });

  it("has no WebSockets: the start says so, and so does the answer", async () => {
    expect(agent.ready.notes.join()).toContain("has WebSockets (/live), which are not served");
    const socket = new WebSocket(`${agent.ready.url.replace("http", "ws")}/live`);
    const refused = await new Promise<IncomingMessage>((resolve, reject) => {
      socket.on("unexpected-response", (_request, response) => resolve(response));
      socket.on("open", () => reject(new Error("It was opened.")));
    });
    expect(refused.statusCode).toBe(404);
    expect(await text(refused)).toContain("a project's own application is served only over HTTP");
  });

  it("that fails says so and goes on", async () => {
    const broken = await get("/broken");
    expect(broken.status).toBe(500);
    expect((await get("/hello/ben")).status).toBe(200);
  });

  it("opens at its start what nodes use", async () => {
    const thread = await ann.threads.create();
    expect(await ann.runs.wait(thread.thread_id, "echo", { input: { text: "hi" } })).toMatchObject({
      pooled: true,
    });
  });
});

describe("from inside", () => {
  it("a client without an address streams a run of the same server, with a credential where the project asks", async () => {
    const thread = await ann.threads.create();
    expect(await ann.runs.wait(thread.thread_id, "caller", { input: {} })).toMatchObject({
      events: ["metadata", "values", "values"],
    });
  });

  it("the store searches by the project's own vectors", async () => {
    await ann.store.putItem(["notes"], "tea", { text: "tea" });
    await ann.store.putItem(["notes"], "bread", { text: "bread" });
    const { items } = await ann.store.searchItems(["notes"], { query: "t", limit: 1 });
    expect(items[0]).toMatchObject({ key: "tea", score: expect.any(Number) });
  });
});
