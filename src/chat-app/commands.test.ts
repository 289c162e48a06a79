import { afterEach, describe, expect, it } from "vitest";
import { type Answer, createChatClient, isEnd, texts } from "../../tests/support/chat-client.ts";
import type { ChatServerOptions } from "../../tests/support/chat-server.ts";
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
    const { say, until, call, list, ended, command } = await start({ tokenDelayMs: 8 });
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

  it.each([undefined, null, "_"])("are of the default assistant for the name %s", async (assistant_id) => {
    const { say, ended, list } = await start();
    expect(await say("t1", "Calculate 6 * 7", { assistant_id })).toMatchObject({ type: "success" });
    await ended("t1");
    expect(await list()).toMatchObject([{ assistant_id: "agent", status: "idle" }]);
  });

  it("are followed by channels the protocol knows, and no others", async () => {
    const { call } = await start();
    for (const channels of [["debug"], ["custom:"], ["values", "input.requested"], []]) {
      expect((await call("POST", "/api/threads/t1/stream", { channels })).status).toBe(422);
    }
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

  it("is answered by commands too", async () => {
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
    ["a list", [1], null],
    ["no id", { method: "run.start" }, null],
    ["no method", { id: 1 }, 1],
    ["an id that is no number", { id: "1", method: "run.start" }, null],
  ])("%s: 400 and the protocol's error", async (_name, body, id) => {
    const { call } = await start();
    const { status, body: answer } = await call<Answer>("POST", "/api/threads/t1/commands", body);
    expect(status).toBe(400);
    expect(answer).toMatchObject({ type: "error", id, error: "invalid_argument" });
  });

  it.each([
    ["subscription.subscribe", {}, "unknown_command"],
    ["run.start", { assistant_id: 5 }, "invalid_argument"],
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
