import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from "vitest";
import { GraphRegistry } from "../../src/agent-server/graphs/graph-registry.ts";
import { startTestAgentServer, type TestAgentServer } from "../support/agent-server.ts";
import { waitUntil } from "../support/components/wait-until.ts";
import { createTestDatabase, type TestDatabase } from "../support/database.ts";
import { Gates, gatedGraph } from "../support/gated-graph.ts";
import { protocolGraphs } from "../support/protocol-graphs.ts";
import { openReactClients, type ReactClient } from "../support/react-client.ts";

// A real browser on a busy machine.
vi.setConfig({ testTimeout: 90_000, hookTimeout: 240_000 });

const gates = new Gates();
let base: TestDatabase;
let server: TestAgentServer;
let clients: Awaited<ReturnType<typeof openReactClients>>;

beforeAll(async () => {
  base = await createTestDatabase();
  const graphs = (await protocolGraphs()).set("gated", await gatedGraph(gates));
  [server, clients] = await Promise.all([
    startTestAgentServer(base.url, { graphs: new GraphRegistry(graphs) }),
    openReactClients(),
  ]);
});
afterEach(() => clients.closeAll());
afterAll(async () => {
  await clients?.stop();
  await server?.stop();
  await base?.drop();
});

/** Runs of the thread as the server has them, the oldest first. */
async function runsOf(threadId: string) {
  return (await server.client.runs.list(threadId)).reverse();
}

async function statusesOf(threadId: string) {
  return (await runsOf(threadId)).map(({ status }) => status);
}

describe.each(["sse", "websocket"])("useStream over %s", (transport) => {
  const open = (assistant: string, thread?: string): Promise<ReactClient> =>
    clients.open({ api: server.url, assistant, transport, ...(thread ? { thread } : {}) });
  /** Gates stay open, so each transport has names of its own. */
  const hold = (name: string) => `hold ${name} ${transport}`;

  it("begins a thread, shows an answer as it comes, and goes on", async () => {
    const client = await open("gated");
    await client.say(hold("new"));
    const half = await client.until("half an answer", ({ messages }) => messages.length === 2);
    expect(half).toMatchObject({ isLoading: true, messages: [`human: ${hold("new")}`, "ai: You said "] });
    gates.open(hold("new"));
    const first = await client.until("the answer", ({ isLoading }) => !isLoading);
    expect(first.messages).toEqual([`human: ${hold("new")}`, `ai: You said "${hold("new")}" after 0.`]);

    await client.say("again");
    const second = await client.until("the second answer", ({ ended }) => ended.length === 2);
    expect(second.messages).toEqual([...first.messages, "human: again", 'ai: You said "again" after 2.']);
    expect(second).toMatchObject({ isLoading: false, ended: ["success", "success"], error: null });
    expect(await statusesOf(second.threadId!)).toEqual(["success", "success"]);
    expect(client.troubles).toEqual([]);
  });

  it("shows tools and the messages of a subagent", async () => {
    const client = await open("agent");
    await client.say("Research durable execution");
    const shown = await client.until("the end of the run", ({ ended }) => ended.length === 1);
    expect(shown).toMatchObject({
      error: null,
      toolCalls: ["task: finished"],
      subagents: ["researcher: complete"],
    });
    expect(shown.messages.at(-1)).toContain("In short:");
    await client.page.getByLabel("Subagents").getByText("durable execution").first().waitFor();
    expect(client.troubles).toEqual([]);
  });

  it("shows a thread that exists and goes on with it", async () => {
    const { thread_id: threadId } = await server.client.threads.create();
    const input = { messages: [{ role: "user", content: "before" }] };
    await server.client.runs.wait(threadId, "gated", { input });

    const client = await open("gated", threadId);
    const before = ["human: before", 'ai: You said "before" after 0.'];
    expect(await client.shown()).toMatchObject({ messages: before, isLoading: false });
    await client.say("after");
    const shown = await client.until("the answer", ({ ended }) => ended.length === 1);
    expect(shown.messages).toEqual([...before, "human: after", 'ai: You said "after" after 2.']);
    expect(client.troubles).toEqual([]);
  });

  it("takes an answer up again after a reload in the middle of it", async () => {
    const client = await open("gated");
    await client.say("first");
    await client.until("the first answer", ({ ended }) => ended.length === 1);
    await client.say(hold("reload"));
    await client.until("half an answer", ({ messages }) => messages.at(-1) === "ai: You said ");
    await client.reload();
    const half = await client.until("the same half", ({ messages }) => messages.length === 4);
    expect(half.messages.slice(2)).toEqual([`human: ${hold("reload")}`, "ai: You said "]);
    await client.until("the run to be seen", ({ isLoading }) => isLoading);
    gates.open(hold("reload"));
    const shown = await client.until("the answer", ({ isLoading }) => !isLoading);
    expect(shown.messages.slice(2)).toEqual([
      `human: ${hold("reload")}`,
      `ai: You said "${hold("reload")}" after 2.`,
    ]);
    expect(await statusesOf(shown.threadId!)).toEqual(["success", "success"]);
    expect(client.troubles).toEqual([]);
  });

  it("answers an interrupt, also one it finds after a reload", async () => {
    const client = await open("asking");
    await client.submit({ steps: [] });
    const asked = await client.until("a question", ({ interrupts, isLoading }) => interrupts.length > 0 && !isLoading);
    expect(asked).toMatchObject({ interrupts: [{ question: "go on?" }], steps: ["prepared"] });
    await client.respond("yes");
    const first = await client.until("the answer to be taken", ({ steps, isLoading }) => steps.length === 2 && !isLoading);
    expect(first).toMatchObject({ interrupts: [], steps: ["prepared", "answer: yes"], error: null });

    await client.submit({ steps: [] });
    await client.until("the second question", ({ interrupts, isLoading }) => interrupts.length > 0 && !isLoading);
    await client.reload();
    const found = await client.until("the question again", ({ interrupts }) => interrupts.length > 0);
    expect(found.interrupts).toEqual([{ question: "go on?" }]);
    await client.respond("still yes");
    const second = await client.until("the second answer", ({ steps, isLoading }) => steps.length === 4 && !isLoading);
    expect(second.steps.slice(2)).toEqual(["prepared", "answer: still yes"]);
    expect(second).toMatchObject({ interrupts: [], error: null, refusals: [] });
    expect(client.troubles).toEqual([]);
  });

  it("stops a run and goes on afterwards", async () => {
    const client = await open("gated");
    await client.say(hold("stop"));
    await client.until("half an answer", ({ messages }) => messages.length === 2);
    await client.press("Stop");
    const stopped = await client.until("the end", ({ isLoading }) => !isLoading);
    expect(stopped.error).toBeNull();
    await waitUntil(async () => (await statusesOf(stopped.threadId!))[0] === "interrupted", {
      what: "the server to have stopped it",
      timeoutMs: 20_000,
    });
    await client.say("next");
    const shown = await client.until("the next answer", ({ messages }) => /"next"/.test(messages.at(-1) ?? ""));
    expect(shown.error).toBeNull();
    expect(client.troubles).toEqual([]);
  });

  it("forks where a message was said", async () => {
    const client = await open("gated");
    await client.say("one");
    await client.until("the first answer", ({ ended }) => ended.length === 1);
    await client.say("two");
    const whole = await client.until("the second answer", ({ ended }) => ended.length === 2);
    await client.replace(2, "deux");
    const forked = await client.until("the new branch", ({ ended }) => ended.length === 3);
    const branch = [...whole.messages.slice(0, 2), "human: deux", 'ai: You said "deux" after 2.'];
    expect(forked.messages).toEqual(branch);
    await client.reload();
    expect((await client.until("the branch", ({ messages }) => messages.length > 0)).messages).toEqual(branch);
    expect(client.troubles).toEqual([]);
  });

  it("forks from a checkpoint of the history", async () => {
    const client = await open("gated");
    await client.say("one");
    const first = await client.until("the first answer", ({ ended }) => ended.length === 1);
    await client.say("two");
    await client.until("the second answer", ({ ended }) => ended.length === 2);
    const history = await server.client.threads.getHistory<{ messages?: unknown[] }>(first.threadId!);
    const end = history.find(({ values, next }) => values.messages?.length === 2 && next.length === 0);
    await client.say("three", { forkFrom: end!.checkpoint.checkpoint_id });
    const forked = await client.until("the new branch", ({ ended }) => ended.length === 3);
    expect(forked.messages).toEqual([...first.messages, "human: three", 'ai: You said "three" after 2.']);
    expect(client.troubles).toEqual([]);
  });

  it("queues what is said during a run", async () => {
    const client = await open("gated");
    await client.say(hold("queue"));
    await client.until("half an answer", ({ messages }) => messages.length === 2);
    await client.say("second", { multitaskStrategy: "enqueue" });
    await client.until("one to wait", ({ queued }) => queued === 1);
    await client.say("third", { multitaskStrategy: "enqueue" });
    await client.until("two to wait", ({ queued }) => queued === 2);
    gates.open(hold("queue"));
    const shown = await client.until("all answers", ({ ended }) => ended.length === 3);
    expect(shown).toMatchObject({ queued: 0, error: null });
    expect(shown.messages.filter((message) => message.startsWith("ai"))).toEqual([
      `ai: You said "${hold("queue")}" after 0.`,
      'ai: You said "second" after 2.',
      'ai: You said "third" after 4.',
    ]);
    expect(client.troubles).toEqual([]);
  });

  it("queues on the server what is said after a reload, when the client knows of no run", async () => {
    const client = await open("gated");
    await client.say(hold("server queue"));
    await client.until("half an answer", ({ messages }) => messages.length === 2);
    await client.reload();
    await client.until("the run to be seen", ({ isLoading }) => isLoading);
    await client.say("second", { multitaskStrategy: "enqueue" });
    const threadId = await client.threadId();
    await waitUntil(async () => (await statusesOf(threadId)).at(1) === "pending", {
      what: "the second run to wait",
      timeoutMs: 20_000,
    });
    gates.open(hold("server queue"));
    const shown = await client.until("both answers", ({ messages, isLoading }) => messages.length === 4 && !isLoading);
    expect(shown.messages).toEqual([
      `human: ${hold("server queue")}`,
      `ai: You said "${hold("server queue")}" after 0.`,
      "human: second",
      'ai: You said "second" after 2.',
    ]);
    expect(client.troubles).toEqual([]);
  });

  it("speaks to two assistants on one thread", async () => {
    const client = await open("gated");
    await client.say("to the first");
    const first = await client.until("the first answer", ({ ended }) => ended.length === 1);
    await client.chooseAssistant("echo");
    expect((await client.until("the thread", ({ messages }) => messages.length > 0)).messages).toEqual(first.messages);
    await client.say("to the second");
    const second = await client.until("the second answer", ({ ended }) => ended.length === 2);
    expect(second.messages).toEqual([...first.messages, "human: to the second", "ai: echo to the second"]);
    await client.chooseAssistant("gated");
    await client.until("the thread again", ({ messages }) => messages.length === 4);
    await client.say("back");
    const third = await client.until("the third answer", ({ ended }) => ended.length === 3);
    expect(third.messages.at(-1)).toBe('ai: You said "back" after 4.');
    expect(third.threadId).toBe(first.threadId);
    const assistants = (await runsOf(first.threadId!)).map(({ assistant_id }) => assistant_id);
    expect(new Set(assistants).size).toBe(2);
    expect(client.troubles).toEqual([]);
  });
});
