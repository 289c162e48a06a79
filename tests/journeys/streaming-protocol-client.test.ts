import { randomUUID } from "node:crypto";
import { Client } from "@langchain/langgraph-sdk";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { GraphRegistry } from "../../src/agent-server/graphs/graph-registry.ts";
import { startTestAgentServer, type TestAgentServer } from "../support/agent-server.ts";
import { startTcpProxy } from "../support/components/tcp-proxy.ts";
import { createTestDatabase, type TestDatabase } from "../support/database.ts";
import { readEvents } from "../support/protocol-client.ts";
import { isTerminal } from "../support/protocol-events.ts";
import { protocolGraphs } from "../support/protocol-graphs.ts";

let base: TestDatabase;
let server: TestAgentServer;

const startServer = async () =>
  startTestAgentServer(base.url, { graphs: new GraphRegistry(await protocolGraphs()) });
const say = (text: string) => ({ messages: [{ role: "user", content: text }] });

beforeAll(async () => {
  base = await createTestDatabase();
  server = await startServer();
});

afterAll(async () => {
  await server?.stop();
  await base?.drop();
});

/** Nothing of ours between the client and the server. */
function open(
  transport: "sse" | "websocket",
  assistantId: string,
  threadId: string = randomUUID(),
  url = server.url,
) {
  const client = new Client({ apiUrl: url, apiKey: null });
  return client.threads.stream(threadId, { assistantId, transport, reconnectDelayMs: () => 10 });
}

type Chat = { messages: { content: unknown; text: string }[] };
type Steps = { steps: string[] };

describe.each(["sse", "websocket"] as const)("the real client over %s", (transport) => {
  it("runs on a new thread: messages, tools, subagents, values and output", async () => {
    const thread = open(transport, "agent");
    const { messages, toolCalls, subagents } = thread;
    const texts: string[] = [];
    const calls: string[] = [];
    const agents: string[] = [];
    const consumed = Promise.all([
      (async () => {
        for await (const message of messages) texts.push(await message.text);
      })(),
      (async () => {
        for await (const call of toolCalls) calls.push(call.name);
      })(),
      (async () => {
        for await (const agent of subagents) agents.push(agent.name);
      })(),
    ]);
    const { run_id } = (await thread.run.start({ input: say("research agents") })) as { run_id: string };
    const output = (await thread.output) as Chat;
    await consumed;
    expect(output.messages.at(-1)!.text).toContain("Research: agents");
    expect(texts.at(-1)).toContain("Research: agents");
    expect(calls).toContain("task");
    expect(agents).toEqual(["researcher"]);
    expect(thread.interrupted).toBe(false);
    expect((await server.client.runs.get(thread.threadId, run_id)).status).toBe("success");
    await thread.close();
  });

  it("goes on with an existing thread, and with another assistant on it", async () => {
    const threadId = randomUUID();
    const first = open(transport, "echo", threadId);
    await first.run.start({ input: say("one") });
    await first.output;
    await first.close();
    const second = open(transport, "agent", threadId);
    await second.run.start({ input: say("hello") });
    await readEvents(server.url, threadId, (events) => events.filter(isTerminal).length === 2);
    const state = await server.client.threads.getState<Chat>(threadId);
    expect(state.values.messages.map(({ content }) => content)).toEqual([
      "one",
      "echo one",
      "hello",
      expect.stringContaining("Hello!"),
    ]);
    await second.close();
  });

  it("a second client that comes in the middle hears it all", async () => {
    const threadId = randomUUID();
    const first = open(transport, "slow", threadId);
    const { values } = first;
    await first.run.start({ input: { pause: 60 } });
    for await (const value of values) if ((value as Steps).steps.length > 0) break;
    const late = open(transport, "slow", threadId);
    const heard: Steps[] = [];
    const channel = await late.subscribe({ channels: ["values", "lifecycle"] });
    for await (const event of channel) {
      if (event.method === "values") heard.push(event.params.data as Steps);
      if (isTerminal(event as never)) break;
    }
    expect(heard.map(({ steps }) => steps.length)).toEqual([0, 1, 2, 3]);
    await first.close();
    await late.close();
  });

  it("loses nothing when the connection drops in the middle of a run", async () => {
    const proxy = await startTcpProxy({ target: server.url });
    const threadId = randomUUID();
    const thread = open(transport, "slow", threadId, proxy.urlFor(server.url));
    const heard: string[] = [];
    const channel = await thread.subscribe({ channels: ["values", "lifecycle", "updates"] });
    await thread.run.start({ input: { pause: 120 } });
    let cut = false;
    for await (const event of channel) {
      heard.push(event.event_id!);
      if (event.method === "updates" && !cut) {
        cut = true;
        proxy.cut();
      }
      if (isTerminal(event as never)) break;
    }
    expect(cut).toBe(true);
    const all = await readEvents(server.url, threadId, (events) => events.some(isTerminal), {
      channels: ["values", "lifecycle", "updates"],
    });
    expect(heard).toEqual(all.map((event) => event.event_id));
    await thread.close();
    await proxy.stop();
  });

  it("stops at an interrupt and goes on with the answer", async () => {
    const thread = open(transport, "asking");
    await thread.run.start({ input: {} });
    await thread.output;
    expect(thread.interrupted).toBe(true);
    expect(thread.interrupts).toMatchObject([{ payload: { question: "go on?" } }]);
    const { interruptId, namespace } = thread.interrupts[0]!;
    const seen = thread.ordering.lastSeenSeq!;
    const channel = await thread.subscribe({ channels: ["values", "lifecycle"] });
    await thread.input.respond({ namespace, interrupt_id: interruptId, response: "yes" });
    let last: unknown;
    for await (const event of channel) {
      if (event.seq! <= seen) continue;
      if (event.method === "values") last = event.params.data;
      if (isTerminal(event as never)) break;
    }
    expect(last).toMatchObject({ steps: ["prepared", "answer: yes"] });
    await thread.close();
  });

  it("answers an interrupt that an earlier process left", async () => {
    const threadId = randomUUID();
    const before = open(transport, "asking", threadId);
    await before.run.start({ input: {} });
    await before.output;
    const { interruptId, namespace } = before.interrupts[0]!;
    await before.close();
    await server.stop();
    server = await startServer();
    const after = open(transport, "asking", threadId);
    await after.input.respond({ namespace, interrupt_id: interruptId, response: "later" });
    await readEvents(server.url, threadId, (events) => events.filter(isTerminal).length === 2);
    expect((await server.client.threads.getState<Steps>(threadId)).values.steps).toEqual([
      "prepared",
      "answer: later",
    ]);
    await after.close();
  });

  it("forks from an earlier checkpoint", async () => {
    const threadId = randomUUID();
    const thread = open(transport, "echo", threadId);
    await thread.run.start({ input: say("one") });
    await thread.output;
    const { checkpoints } = await thread.state.listCheckpoints({ limit: 1 });
    await thread.run.start({ input: say("two") });
    await readEvents(server.url, threadId, (events) => events.filter(isTerminal).length === 2);
    await thread.run.start({ input: say("three"), forkFrom: checkpoints[0]!.id } as never);
    await readEvents(server.url, threadId, (events) => events.filter(isTerminal).length === 3);
    const state = await server.client.threads.getState<Chat>(threadId);
    expect(state.values.messages.map(({ content }) => content)).toEqual([
      "one",
      "echo one",
      "three",
      "echo three",
    ]);
    await thread.close();
  });

  it("a cancelled run ends as interrupted", async () => {
    const thread = open(transport, "slow");
    const { run_id } = (await thread.run.start({ input: { pause: 5_000 } })) as { run_id: string };
    await server.client.runs.cancel(thread.threadId, run_id, false, "interrupt");
    await thread.output;
    expect(thread.interrupted).toBe(true);
    expect(thread.interrupts).toEqual([]);
    await thread.close();
  });

  it("queues, and hears of a rejected run as an error", async () => {
    const thread = open(transport, "slow");
    await thread.run.start({ input: { pause: 50 } });
    await thread.run.start({ input: { pause: 0 }, multitaskStrategy: "enqueue" } as never);
    await expect(
      thread.run.start({ input: { pause: 0 }, multitaskStrategy: "reject" } as never),
    ).rejects.toThrow(/already running/);
    await readEvents(server.url, thread.threadId, (events) => events.filter(isTerminal).length === 2);
    expect(await server.client.runs.list(thread.threadId)).toHaveLength(2);
    await thread.close();
  });

  it("hears on one process what runs on another, in order and whole", async () => {
    // A process without room executes nothing: the run is the other's.
    const graphs = new GraphRegistry(await protocolGraphs());
    const listener = await startTestAgentServer(base.url, { graphs, runConcurrency: 0 });
    const threadId = randomUUID();
    const thread = open(transport, "agent", threadId, listener.url);
    const heard: { id: string; method: string }[] = [];
    const channel = await thread.subscribe({
      channels: ["messages", "values", "lifecycle", "tools", "updates"],
    });
    await thread.run.start({ input: say("research agents") });
    for await (const event of channel) {
      heard.push({ id: event.event_id!, method: event.method });
      if (isTerminal(event as never)) break;
    }
    const filter = { channels: ["messages", "values", "lifecycle", "tools", "updates"] };
    const all = await readEvents(server.url, threadId, (events) => events.some(isTerminal), filter);
    expect(heard).toEqual(all.map((event) => ({ id: event.event_id, method: event.method })));
    await thread.close();
    await listener.stop();
  });
});
