import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { GraphRegistry } from "../../src/agent-server/graphs/graph-registry.ts";
import { startTestAgentServer, type TestAgentServer } from "../support/agent-server.ts";
import { createTestDatabase, type TestDatabase } from "../support/database.ts";
import { readEvents, readFrames, sendCommand } from "../support/protocol-client.ts";
import { checkOrder, isTerminal, type WireEvent } from "../support/protocol-events.ts";
import { protocolGraphs } from "../support/protocol-graphs.ts";

let base: TestDatabase;
let server: TestAgentServer;

const startServer = async () =>
  startTestAgentServer(base.url, { graphs: new GraphRegistry(await protocolGraphs()) });
const say = (text: string) => ({ messages: [{ role: "user", content: text }] });
const ended = (events: WireEvent[], times = 1) => events.filter(isTerminal).length >= times;
const methods = (events: WireEvent[]) => events.map((event) => event.method);
const statuses = (events: WireEvent[]) =>
  events.flatMap((event) =>
    event.method === "lifecycle" && event.params.namespace.length === 0 ? [event.params.data.event] : [],
  );

beforeAll(async () => {
  base = await createTestDatabase();
  server = await startServer();
});

afterAll(async () => {
  await server?.stop();
  await base?.drop();
});

describe("a run over HTTP", () => {
  it("begins with running, ends with its terminal, and tells everything in between in order", async () => {
    const threadId = randomUUID();
    const answer = await sendCommand(server.url, threadId, "run.start", {
      assistant_id: "agent",
      input: say("research streaming"),
      config: { configurable: { token_delay_ms: 0 } },
    });
    expect(answer).toMatchObject({
      type: "success",
      id: 7,
      result: { run_id: expect.any(String) },
      meta: { thread_id: threadId, applied_through_seq: 0 },
    });
    const events = await readEvents(server.url, threadId, ended);
    checkOrder(events);
    expect(statuses(events)).toEqual(["running", "completed"]);
    expect(isTerminal(events.at(-1)!)).toBe(true);
    expect(new Set(methods(events))).toEqual(
      new Set(["lifecycle", "checkpoints", "values", "tasks", "messages", "updates", "tools"]),
    );
    const last = events.findLast((event) => event.method === "values")!;
    expect(last.params.namespace).toEqual([]);
    const state = await server.client.threads.getState(threadId);
    expect(last.params.data).toEqual(state.values);
  });

  it("tells of a subagent in its own namespace, with the tool call that caused it", async () => {
    const threadId = randomUUID();
    await sendCommand(server.url, threadId, "run.start", {
      assistant_id: "agent",
      input: say("research agents"),
    });
    const events = await readEvents(server.url, threadId, ended);
    const started = events.filter(
      (event) => event.method === "lifecycle" && event.params.data.event === "started",
    );
    const caused = started.find((event) => event.method === "lifecycle" && event.params.data.cause);
    const called = events.find(
      (event) => event.method === "tools" && event.params.data.event === "tool-started",
    )!;
    expect(caused?.params.namespace).toEqual(called.params.namespace);
    expect(caused?.params.data).toMatchObject({
      cause: {
        type: "toolCall",
        tool_call_id: (called.params.data as { tool_call_id: string }).tool_call_id,
      },
    });
    const open = new Map<string, string>();
    for (const event of events) {
      if (event.method === "lifecycle") open.set(event.params.namespace.join("|"), event.params.data.event);
    }
    expect([...open.values()]).not.toContain("started");
    const ns = caused!.params.namespace[0]!;
    const inside = await readEvents(server.url, threadId, (all) => all.some((e) => e.method === "messages"), {
      channels: ["messages"],
      namespaces: [[ns]],
    });
    expect(inside[0]!.params.namespace[0]).toBe(ns);
  });

  it("passes custom events by name", async () => {
    const threadId = randomUUID();
    await sendCommand(server.url, threadId, "run.start", { assistant_id: "reporting", input: say("go") });
    const all = await readEvents(server.url, threadId, ended, { channels: ["custom", "lifecycle"] });
    const data = all.flatMap((event) => (event.method === "custom" ? [event.params.data] : []));
    expect(data).toEqual([
      { name: "progress", payload: { percent: 50 } },
      { name: "note", text: "half", payload: { text: "half" } },
      { payload: "plain" },
    ]);
    const named = await readEvents(server.url, threadId, ended, { channels: ["custom:note", "lifecycle"] });
    expect(named.filter((event) => event.method === "custom")).toHaveLength(1);
  });

  it("tells what the transformers of a graph have to say, and leaves out what they drop", async () => {
    const threadId = randomUUID();
    await sendCommand(server.url, threadId, "run.start", { assistant_id: "counting", input: {} });
    const events = await readEvents(server.url, threadId, ended);
    expect(events.flatMap((event) => (event.method === "custom" ? [event.params.data] : []))).toEqual([
      { name: "steps", payload: { node: "first" } },
      { name: "steps", payload: { node: "second" } },
      { name: "total", payload: 2 },
    ]);
    expect(methods(events)).not.toContain("tasks");
    expect(isTerminal(events.at(-1)!)).toBe(true);
  });

  it("replays the same events to whoever comes later, and goes on after `since`", async () => {
    const threadId = randomUUID();
    await sendCommand(server.url, threadId, "run.start", { assistant_id: "slow", input: { pause: 20 } });
    const live = await readEvents(server.url, threadId, ended);
    const again = await readEvents(server.url, threadId, ended, {}, "stream");
    expect(again).toEqual(live);
    const half = live[Math.floor(live.length / 2)]!.seq;
    const rest = await readEvents(server.url, threadId, ended, { since: half });
    expect(rest).toEqual(live.filter((event) => event.seq > half));
  });

  it("says what is wrong with a failed run", async () => {
    const threadId = randomUUID();
    await sendCommand(server.url, threadId, "run.start", { assistant_id: "failing", input: {} });
    const events = await readEvents(server.url, threadId, ended);
    expect(events.at(-1)!.params.data).toMatchObject({
      event: "failed",
      error: "the second node always fails",
    });
  });

  it("answers with headers before anything runs", async () => {
    const threadId = randomUUID();
    const frames = await readFrames(
      `${server.url}/threads/${threadId}/stream/events`,
      {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify({ channels: ["values"] }),
      },
      () => true,
    );
    expect(frames).toEqual([]);
  });

  it("a run over REST on the same thread speaks both languages", async () => {
    const threadId = randomUUID();
    await sendCommand(server.url, threadId, "run.start", { assistant_id: "echo", input: say("one") });
    await readEvents(server.url, threadId, ended);
    const parts: { event: string }[] = [];
    for await (const part of server.client.runs.stream(threadId, "agent", {
      input: say("two"),
      streamMode: ["messages-tuple", "updates", "checkpoints"],
    }))
      parts.push(part);
    const names = parts.map((part) => part.event);
    expect(names[0]).toBe("metadata");
    expect(names).toContain("messages");
    expect(names.filter((name) => name === "updates")).toHaveLength(1);
    expect(new Set(names)).toEqual(new Set(["metadata", "messages", "updates", "checkpoints"]));
    const events = await readEvents(server.url, threadId, (all) => ended(all, 2));
    checkOrder(events);
    expect(statuses(events)).toEqual(["running", "completed", "running", "completed"]);
    const second = events.slice(events.findIndex(isTerminal) + 1);
    expect(new Set(methods(second))).toEqual(
      new Set(["lifecycle", "checkpoints", "values", "tasks", "messages", "updates"]),
    );
  });

  it.each([false, true])(
    "the older modes say the same with it as without, subgraphs: %s",
    async (subgraphs) => {
      const plain = await server.client.threads.create();
      const listened = await server.client.threads.create();
      await readEvents(server.url, listened.thread_id, () => true);
      const namesOf = async (threadId: string) => {
        const names: string[] = [];
        for await (const part of server.client.runs.stream(threadId, "agent", {
          input: say("research agents"),
          streamMode: ["values", "updates", "custom", "tasks", "tools", "debug"],
          streamSubgraphs: subgraphs,
          config: { configurable: { token_delay_ms: 0 } },
        }))
          names.push(part.event.replaceAll(/[0-9a-f-]{36}/g, "id"));
        return names;
      };
      const expected = await namesOf(plain.thread_id);
      expect(await namesOf(listened.thread_id)).toEqual(expected);
      expect(statuses(await readEvents(server.url, listened.thread_id, ended))).toEqual([
        "running",
        "completed",
      ]);
    },
  );

  it("also while a client of callback events listens", async () => {
    const { thread_id: threadId } = await server.client.threads.create();
    await readEvents(server.url, threadId, () => true);
    const names = new Set<string>();
    for await (const part of server.client.runs.stream(threadId, "agent", {
      input: say("research agents"),
      streamMode: ["events", "values"],
    }))
      names.add(part.event);
    expect(names).toEqual(new Set(["metadata", "events", "values"]));
    const events = await readEvents(server.url, threadId, ended);
    checkOrder(events);
    expect(new Set(methods(events))).toEqual(
      new Set(["lifecycle", "checkpoints", "values", "tasks", "messages", "updates", "tools"]),
    );
  });
});
