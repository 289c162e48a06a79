import { Client, HttpAgentServerAdapter } from "@langchain/langgraph-sdk";
import { afterEach, describe, expect, it } from "vitest";
import { createChatClient, isEnd, texts } from "../../tests/support/chat-client.ts";
import { type ChatServerOptions, createChatServer } from "../../tests/support/chat-server.ts";
import type { ThreadState } from "./thread-state.ts";

const stops: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const stop of stops.splice(0)) await stop();
});

async function start(options: ChatServerOptions = {}) {
  const client = await createChatClient(options);
  stops.push(client.stop);
  return client;
}

describe("a thread", () => {
  it("is unknown until it is made by POST, and then listed", async () => {
    const { call, list } = await start();
    expect((await call("GET", "/api/threads/t1/state")).status).toBe(404);
    expect((await call("POST", "/api/threads/t1/history", {})).status).toBe(404);
    const made = await call<ThreadState>("POST", "/api/threads/t1/state", { values: { messages: [] } });
    expect(made.status).toBe(200);
    expect(made.body).toMatchObject({ values: { messages: [] }, next: [], interrupts: [] });
    expect((await call("GET", "/api/threads/t1/state")).body).toEqual(made.body);
    expect(await list()).toMatchObject([{ thread_id: "t1", title: "New conversation", status: "idle" }]);
  });

  it("is made by its first run, and titled after its first message", async () => {
    const { say, ended, list, state } = await start();
    const { result } = await say("t1", "Calculate 6 * 7");
    expect(result?.run_id).toMatch(/^[0-9a-f-]{36}$/);
    await ended("t1");
    expect(await list()).toMatchObject([{ title: "Calculate 6 * 7", status: "idle", active_run_id: null }]);
    expect(texts(await state("t1")).at(-1)).toBe("ai: The result is **42**.");
  });

  it("is gone after DELETE, also in the middle of a run", async () => {
    const { say, until, call, list } = await start({ tokenDelayMs: 20 });
    await say("t1", "Research durable execution");
    await until("t1", ({ method }) => method === "messages");
    expect((await call("DELETE", "/api/threads/t1")).status).toBe(204);
    expect(await list()).toEqual([]);
    expect((await call("DELETE", "/api/threads/t1")).status).toBe(404);
  });

  it("belongs to its workspace", async () => {
    const { say, ended, call } = await start();
    await say("t1", "Hello");
    await ended("t1");
    expect((await call("GET", "/api/threads/t1/state", undefined, "second")).status).toBe(404);
    expect((await call("GET", "/api/threads", undefined, "second")).body).toEqual([]);
    expect((await call("DELETE", "/api/threads/t1", undefined, "second")).status).toBe(404);
    expect((await call("GET", "/api/threads/t1/state", undefined, "nobody")).status).toBe(401);
  });

  it("makes room for a new one when there are too many, the least used first", async () => {
    const { say, ended, list, state } = await start({ limits: { maxThreads: 2 } });
    for (const thread of ["a", "b"]) {
      await say(thread, "Hello");
      await ended(thread);
    }
    await say("a", "Hello again");
    await ended("a", 2);
    await say("c", "Hello");
    await ended("c");
    expect((await list()).map(({ thread_id }) => thread_id).sort()).toEqual(["a", "c"]);
    expect(await state("b")).toMatchObject({ detail: expect.stringContaining("no thread b") });
  });

  it("refuses to grow without end", async () => {
    const { say, ended } = await start({ limits: { maxThreadBytes: 500 } });
    await say("t1", "Hello");
    await ended("t1");
    expect(await say("t1", "Hello")).toMatchObject({ type: "error", error: "invalid_argument" });
  });

  it("needs a plain name", async () => {
    const { call } = await start();
    for (const name of ["constructor", "__proto__", "prototype", "a%20b", ".."]) {
      const { status } = await call("POST", `/api/threads/${name}/state`, { values: { messages: [] } });
      expect([404, 405, 422]).toContain(status);
    }
    expect(({} as Record<string, unknown>).messages).toBeUndefined();
  });
});

describe("the stream", () => {
  it("replays from the beginning, with numbers that rise by one over runs", async () => {
    const { say, ended } = await start();
    await say("t1", "Calculate 1 + 1");
    await ended("t1");
    await say("t1", "Calculate 2 + 2");
    const events = await ended("t1", 2);
    expect(events.map(({ seq }) => seq)).toEqual(events.map((_, at) => at + 1));
    expect(new Set(events.map(({ event_id }) => event_id)).size).toBe(events.length);
    expect(events[0]).toMatchObject({
      method: "lifecycle",
      params: { namespace: [], data: { event: "running" } },
    });
    const methods = new Set(events.map(({ method }) => method));
    for (const method of ["values", "updates", "messages", "tools", "checkpoints", "tasks"]) {
      expect(methods).toContain(method);
    }
  });

  it("may be opened before there is anything, and leaves nothing behind", async () => {
    const { say, until, list } = await start();
    const early = until("t1", isEnd);
    await say("t1", "Hello");
    expect((await early).at(-1)?.params.data.event).toBe("completed");
    await until("t1", isEnd, { since: 0 });
    expect(await list()).toHaveLength(1);
  });

  it("shows a subagent in a namespace of its own, with its messages and tools", async () => {
    const { say, ended } = await start();
    await say("t1", "Research durable execution");
    const events = await ended("t1");
    const nested = events.filter(({ params }) => params.namespace.length > 1);
    expect(nested.some(({ method }) => method === "messages")).toBe(true);
    const tools = events.filter(
      ({ method, params }) => method === "tools" && params.data.event === "tool-started",
    );
    expect(tools.map(({ params }) => params.data.tool_name)).toEqual(["task", "search_notes"]);
    expect(tools[1]!.params.namespace[0]).toBe(tools[0]!.params.namespace[0]);
    const reasoning = events.filter(
      ({ params }) => (params.data.delta as { type?: string })?.type === "reasoning-delta",
    );
    expect(reasoning.length).toBeGreaterThan(10);
  });

  it("refuses a filter without channels", async () => {
    const { call } = await start();
    expect((await call("POST", "/api/threads/t1/stream", { channels: [] })).status).toBe(422);
    expect((await call("POST", "/api/threads/t1/stream", { channels: ["values", "gossip"] })).status).toBe(
      422,
    );
  });
});

describe("the page", () => {
  it("says how to build it when it is not built", async () => {
    const { server } = await start({ pageFolder: "/nonexistent" });
    const response = await server.fetch("/chat");
    expect(response.status).toBe(200);
    expect(await response.text()).toContain("npm run build:web");
    expect((await server.fetch("/chat/assets/index.js")).status).toBe(404);
    expect((await server.fetch("/chat/assets/..%2findex.html")).status).toBe(422);
  });
});

describe("an unmodified client of the protocol", () => {
  it("starts a run, follows it, and answers its question", async () => {
    const chat = await createChatServer();
    const server = await chat.listen();
    stops.push(server.stop);
    const apiUrl = `${server.url}/api`;
    const transport = new HttpAgentServerAdapter({
      apiUrl,
      threadId: "t1",
      paths: { stream: (id) => `/threads/${id}/stream` },
    });
    const thread = new Client({ apiUrl }).threads.stream("t1", { assistantId: "agent", transport });
    const interrupts: { id: string }[] = [];
    const ends: unknown[] = [];
    const { promise: finished, resolve: finish } = Promise.withResolvers<void>();
    thread.onEvent((event) => {
      const data = event.params.data as Record<string, string>;
      if (event.method === "input.requested") interrupts.push({ id: data.interrupt_id! });
      if (event.method !== "lifecycle" || event.params.namespace.length > 0 || data.event === "running")
        return;
      ends.push(data.event);
      if (data.event === "interrupted")
        void thread.respondInput({
          namespace: [],
          interrupt_id: interrupts[0]!.id,
          response: { type: "approve" },
        });
      else finish();
    });
    const { run_id } = await thread.submitRun({
      input: { messages: [{ role: "user", content: "Delete the test records" }] },
    });
    expect(run_id).toMatch(/-/);
    await finished;
    await thread.close();
    expect(ends).toEqual(["interrupted", "completed"]);
  });
});
