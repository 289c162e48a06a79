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

async function lastMessageIdOf(threadId: string) {
  const { values } = await server.client.threads.getState<{ messages: { id: string }[] }>(threadId);
  return values.messages.at(-1)!.id;
}

async function statusesOf(threadId: string) {
  return (await runsOf(threadId)).map(({ status }) => status);
}

/** The messages on a thread of the gated graph, and what comes back when so many messages came before. */
const turn = (text: string, before: number) => [`human: ${text}`, `ai: You said "${text}" after ${before}.`];

describe.each(["sse", "websocket"])("useStream over %s", (transport) => {
  const open = (assistant: string, thread?: string): Promise<ReactClient> =>
    clients.open({ api: server.url, assistant, transport, ...(thread ? { thread } : {}) });
  /** Gates stay open, so each transport has names of its own. */
  const hold = (name: string) => `hold ${name} ${transport}`;

  it("begins a thread, shows an answer as it comes, and goes on", async () => {
    const client = await open("gated");
    await client.say(hold("new"));
    const half = await client.until("half an answer", ({ messages }) => messages[1] === "ai: You said ");
    expect(half).toMatchObject({ isLoading: true, messages: [`human: ${hold("new")}`, "ai: You said "] });
    gates.open(hold("new"));
    await client.settled(turn(hold("new"), 0));
    await client.say("again");
    await client.settled([...turn(hold("new"), 0), ...turn("again", 2)]);
    const shown = await client.until("both ends", ({ ended }) => ended.length === 2);
    expect(shown).toMatchObject({ ended: ["success", "success"], error: null });
    expect(await statusesOf(shown.threadId!)).toEqual(["success", "success"]);
    expect(client.troubles).toEqual([]);
  });

  it("shows tools and the messages of a subagent", async () => {
    const client = await open("agent");
    await client.say("Research durable execution");
    const shown = await client.until(
      "the answer",
      ({ isLoading, messages }) => !isLoading && /In short:/.test(messages.at(-1) ?? ""),
    );
    expect(shown).toMatchObject({
      error: null,
      toolCalls: ["task: finished"],
      subagents: ["researcher: complete"],
    });
    await client.page.getByLabel("Subagents").getByText("durable execution").first().waitFor();
    expect(client.troubles).toEqual([]);
  });

  it("shows a thread that exists and goes on with it", async () => {
    const { thread_id: threadId } = await server.client.threads.create();
    const input = { messages: [{ role: "user", content: "before" }] };
    await server.client.runs.wait(threadId, "gated", { input });

    const client = await open("gated", threadId);
    await client.settled(turn("before", 0));
    await client.say("after");
    await client.settled([...turn("before", 0), ...turn("after", 2)]);
    await client.reload();
    await client.settled([...turn("before", 0), ...turn("after", 2)]);
    await client.say("later");
    await client.settled([...turn("before", 0), ...turn("after", 2), ...turn("later", 4)]);
    expect(client.troubles).toEqual([]);
  });

  it("takes an answer up again after a reload in the middle of it", async () => {
    const client = await open("gated");
    await client.say("first");
    await client.settled(turn("first", 0));
    await client.say(hold("reload"));
    await client.until("half an answer", ({ messages }) => messages.at(-1) === "ai: You said ");
    await client.reload();
    const half = await client.until(
      "the same half",
      (shown) => shown.isLoading && shown.messages.length === 4,
    );
    expect(half.messages.slice(2)).toEqual([`human: ${hold("reload")}`, "ai: You said "]);
    gates.open(hold("reload"));
    const shown = await client.settled([...turn("first", 0), ...turn(hold("reload"), 2)]);
    expect(await statusesOf(shown.threadId!)).toEqual(["success", "success"]);
    expect(client.troubles).toEqual([]);
  });

  it("answers an interrupt, also one it finds after a reload", async () => {
    const client = await open("asking");
    const asked = { interrupts: [{ question: "go on?" }], values: { steps: ["prepared"] } };
    await client.submit({ steps: [] });
    await client.idleWith(asked);
    await client.respond("yes");
    const first = ["prepared", "answer: yes"];
    await client.idleWith({ interrupts: [], values: { steps: first } });

    await client.submit({ steps: [] });
    await client.idleWith({ ...asked, values: { steps: [...first, "prepared"] } });
    await client.reload();
    await client.idleWith({ ...asked, values: { steps: [...first, "prepared"] } });
    await client.respond("still yes");
    const steps = [...first, "prepared", "answer: still yes"];
    await client.idleWith({ interrupts: [], values: { steps }, error: null, refusals: [] });
    expect(client.troubles).toEqual([]);
  });

  it("stops a run and goes on afterwards", async () => {
    const client = await open("gated");
    await client.say(hold("stop"));
    await client.until("half an answer", ({ messages }) => messages.length === 2);
    await client.press("Stop");
    const stopped = await client.settled([`human: ${hold("stop")}`, "ai: You said "]);
    expect(stopped.error).toBeNull();
    await waitUntil(async () => (await statusesOf(stopped.threadId!))[0] === "interrupted", {
      what: "the server to have stopped it",
      timeoutMs: 20_000,
    });
    await client.say("next");
    // The half answer is in no checkpoint; the hook keeps it after what is.
    const shown = await client.settled([`human: ${hold("stop")}`, ...turn("next", 1), "ai: You said "]);
    expect(shown.error).toBeNull();
    expect(client.troubles).toEqual([]);
  });

  it("queues on the server what is said after a reload, when the client knows of no run", async () => {
    const client = await open("gated");
    await client.say(hold("server queue"));
    await client.until("half an answer", ({ messages }) => messages.length === 2);
    await client.reload();
    const { threadId } = await client.until("the run to be seen", ({ isLoading }) => isLoading);
    await client.say("second", { multitaskStrategy: "enqueue" });
    await waitUntil(async () => (await statusesOf(threadId!)).at(1) === "pending", {
      what: "the second run to wait",
      timeoutMs: 20_000,
    });
    gates.open(hold("server queue"));
    await client.settled([...turn(hold("server queue"), 0), ...turn("second", 2)]);
    expect(client.troubles).toEqual([]);
  });

  it("speaks to two assistants on one thread", async () => {
    const client = await open("gated");
    await client.say("to the first");
    const first = turn("to the first", 0);
    const { threadId } = await client.settled(first);
    await client.chooseAssistant("echo");
    await client.settled(first);
    await client.say("to the second");
    const second = [...first, "human: to the second", "ai: echo to the second"];
    await client.settled(second);
    await client.chooseAssistant("gated");
    await client.settled(second);
    await client.say("back");
    const last = await client.settled([...second, ...turn("back", 4)]);
    expect(last).toMatchObject({ threadId, error: null });
    const assistants = (await runsOf(threadId!)).map(({ assistant_id }) => assistant_id);
    expect(assistants).toEqual([assistants[0], assistants[1], assistants[0]]);
    expect(assistants[1]).not.toBe(assistants[0]);
    expect(client.troubles).toEqual([]);
  });
});

describe("useStream", () => {
  const open = (assistant: string): Promise<ReactClient> => clients.open({ api: server.url, assistant });

  it("answers several interrupts at once, and one of a subgraph", async () => {
    const client = await open("asking-twice");
    await client.submit({ answers: [] });
    await client.until(
      "both questions",
      ({ interrupts, isLoading }) => interrupts.length === 2 && !isLoading,
    );
    await client.respondToAll("yes");
    await client.idleWith({ interrupts: [], values: { answers: ["left: yes", "right: yes"] }, refusals: [] });

    const below = await open("asking-below");
    await below.submit({ answers: [] });
    await below.idleWith({ interrupts: ["inner?"] });
    await below.respond("no");
    await below.idleWith({ interrupts: [], values: { answers: ["inner: no"] }, refusals: [] });
    expect([...client.troubles, ...below.troubles]).toEqual([]);
  });

  it("says why a run failed", async () => {
    const client = await open("failing");
    await client.submit({ steps: [] });
    await client.idleWith({
      error: "Error: the second node always fails",
      values: { steps: ["first"] },
      ended: ["error"],
    });
    expect(client.troubles).toEqual([]);
  });

  it.each([
    ["interrupt", (held: string) => [`human: ${held}`, ...turn("instead", 1)]],
    ["rollback", () => turn("instead", 0)],
  ])("puts a new run in the place of the running one: %s", async (multitaskStrategy, rest) => {
    const client = await open("gated");
    const held = `hold ${multitaskStrategy}`;
    await client.say(held);
    await client.until("half an answer", ({ messages }) => messages.length === 2);
    await client.say("instead", { multitaskStrategy });
    // As after a stop, the hook keeps the half answer.
    await client.settled([...rest(held), "ai: You said "]);
    expect(client.troubles).toEqual([]);
  });

  it("forks before an answer to have it made again", async () => {
    const client = await open("gated");
    await client.say("one");
    await client.settled(turn("one", 0));
    await client.say("two");
    const whole = [...turn("one", 0), ...turn("two", 2)];
    const { threadId, lastMessageId } = await client.settled(whole);
    await client.again();
    await client.until("another answer", (shown) => shown.lastMessageId !== lastMessageId);
    const again = await client.settled(whole);
    expect(again.lastMessageId).toBe(await lastMessageIdOf(threadId!));
    await client.reload();
    expect((await client.settled(whole)).lastMessageId).toBe(again.lastMessageId);
    expect(client.troubles).toEqual([]);
  });

  it("forks from a checkpoint of the history", async () => {
    const client = await open("gated");
    await client.say("one");
    await client.settled(turn("one", 0));
    await client.say("two");
    const { threadId } = await client.settled([...turn("one", 0), ...turn("two", 2)]);
    const history = await server.client.threads.getHistory<{ messages?: unknown[] }>(threadId!);
    const end = history.find(({ values, next }) => values.messages?.length === 2 && next.length === 0);
    await client.say("three", { forkFrom: end!.checkpoint.checkpoint_id });
    const branch = [...turn("one", 0), ...turn("three", 2)];
    await client.settled(branch);
    await client.reload();
    await client.settled(branch);
    expect(client.troubles).toEqual([]);
  });

  it("queues what is said during a run", async () => {
    const client = await open("gated");
    const held = "hold the queue";
    await client.say(held);
    await client.until("half an answer", ({ messages }) => messages.length === 2);
    await client.say("second", { multitaskStrategy: "enqueue" });
    await client.until("one to wait", ({ queued }) => queued === 1);
    await client.say("third", { multitaskStrategy: "enqueue" });
    await client.until("two to wait", ({ queued }) => queued === 2);
    gates.open(held);
    const shown = await client.settled([...turn(held, 0), ...turn("second", 2), ...turn("third", 4)]);
    expect(shown).toMatchObject({ queued: 0, error: null });
    expect(client.troubles).toEqual([]);
  });
});
