import { Client, HttpAgentServerAdapter } from "@langchain/langgraph-sdk";
import { afterEach, describe, expect, it } from "vitest";
import { type ChatServerOptions, createChatServer } from "../../tests/support/chat-server.ts";
import type { ThreadState, ThreadSummary } from "./thread-state.ts";

type Answer = {
  type: string;
  id: number | null;
  error?: string;
  message?: string;
  result?: { run_id?: string };
};

const stops: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const stop of stops.splice(0)) await stop();
});

async function start(options: ChatServerOptions = {}) {
  const server = await createChatServer(options);
  stops.push(() => server.chat.stop());
  const call = async <Body>(method: string, path: string, body?: unknown, key?: string) => {
    const response = await server.fetch(path, {
      method,
      headers: {
        ...(body === undefined ? {} : { "content-type": "application/json" }),
        ...(key ? { "x-api-key": key } : {}),
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const text = await response.text();
    return { status: response.status, body: (text === "" ? undefined : JSON.parse(text)) as Body };
  };
  const command = async (thread: string, method: string, params: unknown = {}) =>
    (await call<Answer>("POST", `/api/threads/${thread}/commands`, { id: 7, method, params })).body;
  const say = (thread: string, content: string, more: object = {}) =>
    command(thread, "run.start", {
      assistant_id: "agent",
      input: { messages: [{ role: "user", content }] },
      ...more,
    });
  const state = async (thread: string) =>
    (await call<ThreadState>("GET", `/api/threads/${thread}/state`)).body;
  const list = async () => (await call<ThreadSummary[]>("GET", "/api/threads")).body;
  const history = async (thread: string, page: object = { limit: 100 }) =>
    (await call<ThreadState[]>("POST", `/api/threads/${thread}/history`, page)).body;

  /** Reads the thread's stream until an event fits. */
  const until = async (thread: string, fits: (event: StreamEvent) => boolean, body: object = {}) => {
    const response = await server.fetch(`/api/threads/${thread}/stream`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ channels, ...body }),
    });
    const events: StreamEvent[] = [];
    let rest = "";
    const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader();
    for (;;) {
      const { value, done } = await reader.read();
      if (done) return events;
      rest += value;
      const frames = rest.split("\n\n");
      rest = frames.pop()!;
      for (const frame of frames) {
        const data = /^data: (.*)$/m.exec(frame)?.[1];
        if (!data) continue;
        events.push(JSON.parse(data) as StreamEvent);
        if (!fits(events.at(-1)!)) continue;
        await reader.cancel();
        return events;
      }
    }
  };
  const ended = (thread: string, runs = 1) => {
    let seen = 0;
    return until(thread, (event) => isEnd(event) && ++seen === runs);
  };
  return { server, call, command, say, state, list, history, until, ended };
}

type StreamEvent = {
  event_id: string;
  seq: number;
  method: string;
  params: { namespace: string[]; data: Record<string, unknown> };
};
const channels = [
  "values",
  "updates",
  "messages",
  "tools",
  "lifecycle",
  "input",
  "checkpoints",
  "tasks",
  "custom",
];
const isEnd = ({ method, params }: StreamEvent) =>
  method === "lifecycle" && params.namespace.length === 0 && params.data.event !== "running";
const texts = ({ values }: ThreadState) =>
  (values.messages as { type: string; content: string | { text?: string }[] }[]).map(({ type, content }) =>
    typeof content === "string"
      ? `${type}: ${content}`
      : `${type}: ${content.map((part) => part.text ?? "").join("")}`,
  );

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

  it("is made by its first run, and titled after what was said", async () => {
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
    const { say, ended } = await start({ limits: { maxCheckpoints: 3 } });
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
  });
});

describe("runs", () => {
  it("stop at an interrupt, wait, and go on with the answer", async () => {
    const { say, ended, state, command, list } = await start();
    await say("t1", "Delete the test records");
    const events = await ended("t1");
    const asked = events.filter(({ method }) => method === "input.requested");
    expect(asked).toHaveLength(1);
    expect(events.at(-1)?.params.data.event).toBe("interrupted");
    expect(events.filter(({ params }) => params.data.event === "tool-error")).toEqual([]);
    expect(await list()).toMatchObject([{ status: "interrupted" }]);

    const interrupt_id = asked[0]!.params.data.interrupt_id;
    expect(await command("t1", "input.respond", { interrupt_id: "other", response: true })).toMatchObject({
      error: "no_such_interrupt",
    });
    const decision = {
      decisions: [{ type: "edit", edited_action: { name: "x", args: { action: "delete one" } } }],
    };
    expect(await command("t1", "input.respond", { interrupt_id, response: decision })).toMatchObject({
      type: "success",
      result: {},
    });
    await ended("t1", 2);
    expect(texts(await state("t1")).at(-1)).toContain('Approved: "delete one"');
    expect(await command("t1", "input.respond", { interrupt_id, response: true })).toMatchObject({
      error: "no_such_interrupt",
    });
  });

  it("are cancelled, and the thread can go on", async () => {
    const { say, until, call, list, ended, command } = await start({ tokenDelayMs: 20 });
    const run = (await say("t1", "Research durable execution")).result!.run_id!;
    await until("t1", ({ method }) => method === "tools");
    expect((await call("POST", `/api/threads/t1/runs/${run}/cancel?wait=1`)).status).toBe(204);
    expect((await ended("t1")).at(-1)?.params.data.event).toBe("interrupted");
    expect(await list()).toMatchObject([{ status: "stopped", active_run_id: null }]);
    expect((await call("POST", `/api/threads/t1/runs/${run}/cancel`)).status).toBe(404);
    await command("t1", "run.start", { assistant_id: "agent", input: null });
    expect((await ended("t1", 2)).at(-1)?.params.data.event).toBe("completed");
  });

  it("take turns, are refused, or push the running one aside, as asked", async () => {
    const { say, ended, until, state } = await start({ tokenDelayMs: 5 });
    await say("t1", "Calculate 1 + 1");
    await until("t1", ({ method }) => method === "messages");
    expect(await say("t1", "no", { multitaskStrategy: "reject" })).toMatchObject({
      error: "invalid_argument",
    });
    expect(await say("t1", "no", { multitaskStrategy: "rollback" })).toMatchObject({
      error: "not_supported",
    });
    await say("t1", "Calculate 2 + 2");
    const ends = (await ended("t1", 2)).filter(isEnd).map(({ params }) => params.data.event);
    expect(ends).toEqual(["completed", "completed"]);
    expect(texts(await state("t1")).filter((text) => text.startsWith("human"))).toHaveLength(2);

    await say("t1", "Research durable execution");
    await say("t1", "Calculate 3 + 3", { multitaskStrategy: "interrupt" });
    expect((await ended("t1", 4)).filter(isEnd).map(({ params }) => params.data.event)).toEqual([
      "completed",
      "completed",
      "interrupted",
      "completed",
    ]);
  });

  it("by different assistants share the thread", async () => {
    const { say, ended, state, list } = await start();
    await say("t1", "Calculate 6 * 7");
    await ended("t1");
    await say("t1", "echo this", { assistant_id: "echo" });
    await ended("t1", 2);
    await say("t1", "ship it", { assistant_id: "approval" });
    await ended("t1", 3);
    expect(await list()).toMatchObject([{ status: "interrupted", assistant_id: "approval" }]);
    expect(texts(await state("t1"))).toEqual([
      "human: Calculate 6 * 7",
      "ai: ",
      "tool: 42",
      "ai: The result is **42**.",
      "human: echo this",
      "ai: echo this",
      "human: ship it",
    ]);
  });

  it("cannot set what is the server's own", async () => {
    const { say, ended, list } = await start();
    await say("t1", "Hello", {
      config: { configurable: { thread_id: "t2", checkpoint_ns: "x", __pregel_checkpointer: {} } },
    });
    await ended("t1");
    expect((await list()).map(({ thread_id }) => thread_id)).toEqual(["t1"]);
  });
});

describe("the past", () => {
  it("is paged, newest first", async () => {
    const { say, ended, history } = await start();
    await say("t1", "Calculate 6 * 7");
    await ended("t1");
    const all = await history("t1");
    expect(all.map(({ metadata }) => metadata.step)).toEqual([3, 2, 1, 0, -1]);
    const first = await history("t1", { limit: 2 });
    const before = first[1]!.checkpoint!.checkpoint_id;
    const second = await history("t1", { limit: 2, before });
    expect([...first, ...second]).toEqual(all.slice(0, 4));
    expect(await history("t1", { limit: 2, before: { configurable: { checkpoint_id: before } } })).toEqual(
      second,
    );
  });

  it("holds a subagent's steps", async () => {
    const { say, ended, history } = await start();
    await say("t1", "Research durable execution");
    await ended("t1");
    const tasks = (await history("t1")).flatMap((step) => step.tasks) as {
      checkpoint?: { checkpoint_ns?: string };
    }[];
    const checkpoint_ns = tasks.find((task) => task.checkpoint?.checkpoint_ns)?.checkpoint?.checkpoint_ns;
    const steps = await history("t1", { limit: 1, checkpoint: { checkpoint_ns } });
    expect(texts(steps[0]!)[0]).toBe("human: durable execution");
    expect(await history("t1", { checkpoint: { checkpoint_ns: "nobody:1" } })).toEqual([]);
  });

  it("can be gone back to, from the very first step on", async () => {
    const { say, ended, history, call, state, until } = await start();
    await say("t1", "Calculate 1 + 1");
    await ended("t1");
    const steps = await history("t1");
    const checkpoint = steps.at(-1)!.checkpoint;
    const back = await call<ThreadState>("POST", "/api/threads/t1/state", { checkpoint });
    expect(back.body.values).toEqual({ messages: [] });
    await say("t1", "Calculate 2 + 2");
    // What was streamed on the branch that was left is not replayed into the new one.
    const events = await until("t1", isEnd);
    expect(events[0]).toMatchObject({ method: "lifecycle", params: { data: { event: "running" } } });
    expect(texts(await state("t1"))[0]).toBe("human: Calculate 2 + 2");
    expect((await history("t1")).length).toBeGreaterThan(steps.length);
  });

  it("can be forked by a run", async () => {
    const { say, ended, history, state, command } = await start();
    await say("t1", "Calculate 1 + 1");
    await ended("t1");
    const checkpoint_id = (await history("t1"))[0]!.checkpoint!.checkpoint_id;
    await say("t1", "Calculate 2 + 2");
    await ended("t1", 2);
    await say("t1", "Calculate 3 + 3", { config: { configurable: { checkpoint_id } } });
    await ended("t1");
    expect(texts(await state("t1")).filter((text) => text.startsWith("human"))).toEqual([
      "human: Calculate 1 + 1",
      "human: Calculate 3 + 3",
    ]);
    const input = { messages: [{ role: "user", content: "Calculate 4 + 4" }] };
    expect(await command("t1", "state.fork", { checkpoint_id, input })).toMatchObject({
      result: { thread_id: "t1", run_id: expect.any(String) },
    });
    const unknown = "01999999-0000-7000-8000-000000000000";
    expect(await command("t1", "state.fork", { checkpoint_id: unknown })).toMatchObject({
      error: "no_such_checkpoint",
    });
  });

  it("is told by commands too", async () => {
    const { say, ended, command } = await start();
    await say("t1", "Calculate 6 * 7");
    await ended("t1");
    expect(await command("t1", "state.get", { keys: ["messages", "none"] })).toMatchObject({
      result: { values: { messages: { length: 4 } } },
    });
    expect(await command("t1", "state.listCheckpoints", { limit: 2 })).toMatchObject({
      result: { checkpoints: [{ step: 3 }, { step: 2 }] },
    });
  });

  it("cannot be changed while a run goes on", async () => {
    const { say, until, call } = await start({ tokenDelayMs: 20 });
    await say("t1", "Research durable execution");
    await until("t1", ({ method }) => method === "checkpoints");
    expect((await call("POST", "/api/threads/t1/state", { values: { messages: [] } })).status).toBe(409);
  });
});

describe("bad commands", () => {
  it.each([
    ["a list", [1]],
    ["no id", { method: "run.start" }],
    ["no method", { id: 1 }],
    ["an id that is no number", { id: "1", method: "run.start" }],
  ])("%s: 400 and the protocol's error", async (_name, body) => {
    const { call } = await start();
    const { status, body: answer } = await call<Answer>("POST", "/api/threads/t1/commands", body);
    expect(status).toBe(400);
    expect(answer).toMatchObject({ type: "error", id: null, error: "invalid_argument" });
  });

  it.each([
    ["subscription.subscribe", {}, "unknown_command"],
    ["run.start", {}, "invalid_argument"],
    ["run.start", { assistant_id: "nobody" }, "invalid_argument"],
    ["run.start", { assistant_id: "agent", input: "text" }, "invalid_argument"],
    ["input.respond", { interrupt_id: "x", response: 1 }, "invalid_argument"],
    ["state.fork", { checkpoint_id: "x" }, "invalid_argument"],
  ])("%s %j: 200 and %s", async (method, params, error) => {
    const { command, list } = await start();
    expect(await command("t1", method, params)).toMatchObject({ type: "error", id: 7, error });
    expect(await list()).toEqual([]);
  });
});

describe("a run that fails", () => {
  it("says so at its end, and the next one works", async () => {
    const { say, ended } = await start();
    await say("t1", "Hello", { config: { configurable: { model_name: "nowhere/none" } } });
    const last = (await ended("t1")).at(-1)!;
    expect(last.params.data).toMatchObject({ event: "failed", error: expect.stringContaining("nowhere") });
    await say("t1", "Hello");
    expect((await ended("t1", 2)).at(-1)?.params.data.event).toBe("completed");
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
