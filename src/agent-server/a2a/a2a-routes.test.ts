import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createTestApp, type TestApp } from "../../../tests/support/app.ts";
import { defaultAssistantId } from "../assistants/assistant.ts";
import { rpcResponse } from "../json-rpc/json-rpc.ts";
import type { Artifact, Task, TaskStatus } from "./a2a-task.ts";

let app: TestApp;
beforeAll(async () => {
  app = await createTestApp();
});
afterAll(() => app?.stop());

type Rpc<Result> = { id: unknown; result: Result; error?: { code: number; message: string } };
type StreamEvent = {
  kind: string;
  taskId: string;
  contextId: string;
  status: TaskStatus;
  artifact: Artifact;
  final: boolean;
};

const text = (words: string) => [{ kind: "text", text: words }];
const say = (words: string, ids: Record<string, string> = {}) => ({
  message: { kind: "message", role: "user", messageId: randomUUID(), parts: text(words), ...ids },
});

async function ask<Result = Task>(assistant: string, method: string, params: unknown): Promise<Rpc<Result>> {
  const { status, body } = await app.call<Rpc<Result>>("POST", `/a2a/${assistant}`, {
    body: { jsonrpc: "2.0", id: "q", method, params },
  });
  expect(status).toBe(200);
  expect(rpcResponse.parse(body).id).toBe("q");
  return body;
}

async function stream(assistant: string, method: string, params: unknown): Promise<StreamEvent[]> {
  const response = await app.fetch(`/a2a/${assistant}`, {
    method: "POST",
    headers: { accept: "text/event-stream", "content-type": "application/json" },
    body: JSON.stringify({ jsonrpc: "2.0", id: 7, method, params }),
  });
  expect(response.status).toBe(200);
  expect(response.headers.get("content-type")).toBe("text/event-stream");
  const frames = (await response.text()).split("\n\n").filter((frame) => frame.includes("data: "));
  return frames.map((frame) => {
    const answer = rpcResponse.parse(JSON.parse(frame.split("data: ")[1]!.split("\n")[0]!));
    expect(answer.id).toBe(7);
    return answer.result as StreamEvent;
  });
}

describe("the agent card", () => {
  test("says who the assistant is, where it listens and what it can", async () => {
    const { status, body } = await app.call("GET", "/.well-known/agent-card.json?assistant_id=echo");
    expect(status).toBe(200);
    expect(body).toMatchObject({
      protocolVersion: "0.3.0",
      name: "echo",
      description: "Repeats the message it gets.",
      preferredTransport: "JSONRPC",
      capabilities: { streaming: true, pushNotifications: false },
      defaultInputModes: ["text/plain", "application/json"],
      skills: [{ id: defaultAssistantId("echo") }],
    });
    expect((body as { url: string }).url).toMatch(
      new RegExp(`^http://.*/a2a/${defaultAssistantId("echo")}$`),
    );
  });

  test("404 for an unknown assistant, 422 without one", async () => {
    const path = "/.well-known/agent-card.json";
    expect((await app.call("GET", `${path}?assistant_id=${randomUUID()}`)).status).toBe(404);
    expect((await app.call("GET", path)).status).toBe(422);
  });
});

describe("message/send", () => {
  test("answers with the completed task: its context is the thread, its id the run", async () => {
    const { result } = await ask("echo", "message/send", say("hello"));
    expect(result).toMatchObject({
      kind: "task",
      status: { state: "completed" },
      artifacts: [{ name: "response", parts: text("hello") }],
    });
    const run = await app.call("GET", `/threads/${result.contextId}/runs/${result.id}`);
    expect(run.body).toMatchObject({ status: "success", assistant_id: defaultAssistantId("echo") });
  });

  test("goes on in the context it names, also one the client made up", async () => {
    const contextId = randomUUID();
    await ask("echo", "message/send", say("one", { contextId }));
    const { result } = await ask("echo", "message/send", {
      ...say("two", { contextId }),
      configuration: { historyLength: 10 },
    });
    expect(result.contextId).toBe(contextId);
    expect(result.history?.map((each) => [each.role, each.parts])).toEqual([
      ["user", text("one")],
      ["agent", text("one")],
      ["user", text("two")],
      ["agent", text("two")],
    ]);
  });

  test("data parts are the fields of the input, files part of the message", async () => {
    const { result } = await ask("approval", "message/send", {
      message: {
        role: "user",
        parts: [
          { kind: "data", data: { note: "from data" } },
          { kind: "text", text: "look" },
          { kind: "file", file: { uri: "https://example.org/a.png", mimeType: "image/png", name: "a.png" } },
        ],
      },
    });
    const state = await app.call<{ values: { note?: string; messages: { content: unknown }[] } }>(
      "GET",
      `/threads/${result.contextId}/state`,
    );
    expect(state.body.values.messages[0]?.content).toEqual([
      { type: "text", text: "look" },
      {
        type: "image",
        mimeType: "image/png",
        url: "https://example.org/a.png",
        metadata: { filename: "a.png" },
      },
    ]);
  });

  test("a run that fails is a failed task that says why", async () => {
    const broken = { role: "user", parts: [{ kind: "data", data: { messages: [{ role: "nobody" }] } }] };
    const { result } = await ask("echo", "message/send", { message: broken });
    expect(result.status.state).toBe("failed");
    expect(result.status.message?.parts[0]).toMatchObject({ kind: "text" });
    expect(result.artifacts).toBeUndefined();
  });

  test("without blocking it answers at once; tasks/get tells the rest", async () => {
    const { result } = await ask("echo", "message/send", {
      ...say("later"),
      configuration: { blocking: false },
    });
    await app.call("GET", `/threads/${result.contextId}/runs/${result.id}/join`);
    const later = await ask("echo", "tasks/get", { id: result.id });
    expect(later.result.status.state).toBe("completed");
  });

  test("an interrupt asks for input, and the answer goes on with the same task", async () => {
    const first = await ask("approval", "message/send", say("launch"));
    const { id, contextId } = first.result;
    expect(first.result.status.state).toBe("input-required");
    const [words, data] = first.result.status.message?.parts ?? [];
    expect(words).toMatchObject({ kind: "text", text: expect.stringContaining("May I do this: launch?") });
    expect(data).toMatchObject({ kind: "data", data: { interrupts: [{ id: expect.any(String) }] } });
    expect((await ask("approval", "tasks/get", { id, contextId })).result.status.state).toBe(
      "input-required",
    );

    const second = await ask("approval", "message/send", say("yes", { contextId, taskId: id }));
    expect(second.result).toMatchObject({ id, contextId, status: { state: "completed" } });
    expect(second.result.artifacts?.[0]?.parts).toEqual(text("Done, with your approval: launch."));
    expect((await ask("approval", "tasks/get", { id })).result).toMatchObject({
      id,
      status: { state: "completed" },
    });

    const third = await ask("approval", "message/send", say("again", { contextId, taskId: id }));
    expect(third.error?.code).toBe(-32602);
    expect(third.error?.message).toContain("completed");
  });

  test("two answers to one question: one goes on, the other is refused", async () => {
    const { result } = await ask("approval", "message/send", say("toss"));
    const answer = () =>
      ask("approval", "message/send", say("yes", { contextId: result.contextId, taskId: result.id }));
    const answers = await Promise.all([answer(), answer()]);
    expect(answers.filter((each) => each.error === undefined)).toHaveLength(1);
  });
});

describe("message/stream", () => {
  test("says what the agent says, then what it made, then how it ended", async () => {
    const events = await stream("echo", "message/stream", say("hello"));
    expect(events.map((each) => each.kind)).toEqual([
      "status-update",
      "status-update",
      "artifact-update",
      "status-update",
    ]);
    const [first, spoken, made, last] = events;
    expect(first).toMatchObject({ final: false });
    expect(["submitted", "working"]).toContain(first?.status.state);
    expect(spoken?.status).toMatchObject({
      state: "working",
      message: { role: "agent", parts: text("hello") },
    });
    expect(made).toMatchObject({ artifact: { parts: text("hello") }, append: false, lastChunk: true });
    expect(last).toMatchObject({ final: true, status: { state: "completed" } });
    expect(new Set(events.map((each) => `${each.taskId} ${each.contextId}`)).size).toBe(1);
    const { result } = await ask("echo", "tasks/get", { id: first?.taskId });
    expect(result.artifacts).toEqual([made?.artifact]);
  });

  test("an agent's words come in pieces and end up as one artifact", async () => {
    const events = await stream("agent", "message/stream", say("Hello there"));
    const last = events.at(-1);
    expect(last).toMatchObject({ final: true, status: { state: "completed" } });
    const pieces = events.flatMap((each) => each.status?.message?.parts ?? []);
    expect(pieces.length).toBeGreaterThan(1);
    const made = events.find((each) => each.kind === "artifact-update");
    const whole = pieces.map((part) => (part.kind === "text" ? part.text : "")).join("");
    expect(made?.artifact.parts).toEqual(text(whole));
  });

  test("an interrupt ends the stream with a question; answering streams on in the same task", async () => {
    const events = await stream("approval", "message/stream", say("launch"));
    const { taskId, contextId, status, final } = events.at(-1)!;
    expect([status.state, final]).toEqual(["input-required", true]);
    const more = await stream("approval", "message/stream", say("no", { taskId, contextId }));
    expect(more.at(-1)).toMatchObject({ taskId, contextId, final: true, status: { state: "completed" } });
    expect(more.find((each) => each.kind === "artifact-update")?.artifact.parts).toEqual(
      text("Not done: launch was rejected."),
    );
  });

  test("tasks/resubscribe follows a task to its end", async () => {
    const started = await ask("agent", "message/send", {
      ...say("Hello there"),
      configuration: { blocking: false },
    });
    const events = await stream("agent", "tasks/resubscribe", { id: started.result.id });
    expect(events.at(-1)).toMatchObject({
      taskId: started.result.id,
      final: true,
      status: { state: "completed" },
    });
  });

  test("tasks/resubscribe to a task that is over tells how it ended", async () => {
    const { result } = await ask("echo", "message/send", say("done"));
    const events = await stream("echo", "tasks/resubscribe", { id: result.id });
    expect(events.map((each) => [each.kind, each.final])).toEqual([
      ["artifact-update", undefined],
      ["status-update", true],
    ]);
  });
});

describe("tasks", () => {
  test("a task keeps its own result when its context goes on", async () => {
    const { result } = await ask("echo", "message/send", say("first"));
    await ask("echo", "message/send", say("second", { contextId: result.contextId }));
    const again = await ask("echo", "tasks/get", { id: result.id, historyLength: 0 });
    expect(again.result.artifacts?.[0]?.parts).toEqual(text("first"));
    expect(again.result.history).toBeUndefined();
  });

  test("a task that waits its turn can be canceled, once", async () => {
    const thread = await app.call<{ thread_id: string }>("POST", "/threads");
    const contextId = thread.body.thread_id;
    const body = { assistant_id: "echo", input: {}, after_seconds: 3600 };
    const run = await app.call<{ run_id: string }>("POST", `/threads/${contextId}/runs`, { body });
    const id = run.body.run_id;
    expect((await ask("echo", "tasks/get", { id })).result.status.state).toBe("submitted");
    const { result } = await ask("echo", "tasks/cancel", { id });
    expect(result).toMatchObject({ id, status: { state: "canceled" } });
    expect((await ask("echo", "tasks/cancel", { id })).error?.code).toBe(-32002);
  });

  test("unknown tasks, other assistants' and other contexts'", async () => {
    const { result } = await ask("echo", "message/send", say("mine"));
    for (const [assistant, params] of [
      ["echo", { id: randomUUID() }],
      ["agent", { id: result.id }],
      ["echo", { id: result.id, contextId: randomUUID() }],
    ] as const) {
      expect((await ask(assistant, "tasks/get", params)).error?.code).toBe(-32001);
      expect((await ask(assistant, "tasks/cancel", params)).error?.code).toBe(-32001);
    }
  });
});

describe("errors", () => {
  test.each([
    ["an unknown method", "tasks/list", {}, -32601],
    ["no message", "message/send", {}, -32602],
    ["a message without parts", "message/send", { message: { role: "user", parts: [] } }, -32602],
    ["a part of another kind", "message/send", { message: { role: "user", parts: [{ kind: "x" }] } }, -32602],
    ["a context that is no thread id", "message/send", say("x", { contextId: "mine" }), -32602],
    ["too long a history", "tasks/get", { id: randomUUID(), historyLength: 11 }, -32602],
    ["a task that is not there", "message/send", say("x", { taskId: randomUUID() }), -32001],
  ])("%s", async (_, method, params, code) => {
    const { error } = await ask("echo", method, params);
    expect(error?.code).toBe(code);
    expect(error?.message).not.toBe("");
  });

  test("400 for what is no request or cannot be answered as asked", async () => {
    const call = (body: unknown, accept = "application/json") =>
      app.call<{ error: { code: number } }>("POST", "/a2a/echo", { body, headers: { accept } });
    const send = { jsonrpc: "2.0", id: 1, method: "message/send", params: say("x") };
    for (const answer of [
      await call({ ...send, method: "message/stream" }),
      await call(send, "text/event-stream"),
      await call({ ...send, jsonrpc: "1.0" }),
      await call([send]),
      await call({ jsonrpc: "2.0", method: "message/send", params: say("x") }),
    ]) {
      expect([answer.status, answer.body.error.code]).toEqual([400, -32600]);
    }
    const text = await app.call<{ error: { code: number } }>("POST", "/a2a/echo", { text: "{" });
    expect([text.status, text.body.error.code]).toEqual([400, -32700]);
  });

  test("404 for an unknown assistant", async () => {
    const body = { jsonrpc: "2.0", id: 1, method: "message/send", params: say("x") };
    expect((await app.call("POST", `/a2a/${randomUUID()}`, { body })).status).toBe(404);
  });
});
