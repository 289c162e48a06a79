import { Client } from "@langchain/langgraph-sdk";
import { StreamController } from "@langchain/langgraph-sdk/stream";
import { afterAll, afterEach, beforeAll, expect, it } from "vitest";
import { GraphRegistry } from "../../src/agent-server/graphs/graph-registry.ts";
import { startTestAgentServer, type TestAgentServer } from "../support/agent-server.ts";
import { waitUntil } from "../support/components/wait-until.ts";
import { createTestDatabase, type TestDatabase } from "../support/database.ts";
import { Gates, gatedGraph } from "../support/gated-graph.ts";

type State = { messages: { type: string; content: string }[] };

const gates = new Gates();
const opened: StreamController<State>[] = [];
let base: TestDatabase;
let server: TestAgentServer;

beforeAll(async () => {
  base = await createTestDatabase();
  const graphs = new Map([["gated", await gatedGraph(gates)]]);
  server = await startTestAgentServer(base.url, { graphs: new GraphRegistry(graphs) });
});
afterEach(async () => {
  for (const controller of opened.splice(0)) await controller.dispose();
});
afterAll(async () => {
  await server?.stop();
  await base?.drop();
});

/** What the hooks of the newer packages are made of, with the queue kept by the server. */
function open(threadId?: string) {
  const client = new Client<State>({ apiUrl: server.url, apiKey: null });
  const controller = new StreamController<State>({
    assistantId: "gated",
    client,
    queue: "server",
    threadId: threadId ?? null,
  });
  opened.push(controller);
  return controller;
}

const saying = (content: string): State => ({ messages: [{ type: "human", content }] });
const texts = (controller: StreamController<State>) =>
  controller.rootStore.getSnapshot().messages.map(({ text }) => text);
const until = (what: string, isSo: () => boolean | Promise<boolean>) =>
  waitUntil(isSo, { what, timeoutMs: 20_000, intervalMs: 10 });

it("keeps the client's queue on the server: seen after a reload, cancelled one by one, run in order", async () => {
  const first = open();
  const running = first.submit(saying("hold the queue"));
  await until("half an answer", () => texts(first).length === 2);
  for (const text of ["second", "third", "fourth"]) {
    await first.submit(saying(text), { multitaskStrategy: "enqueue" });
  }
  const { threadId } = first.rootStore.getSnapshot();
  await until("three to wait", () => first.queueStore.getSnapshot().length === 3);
  expect((await server.client.runs.list(threadId!, { status: "pending" })).length).toBe(3);

  const second = open(threadId!);
  await second.hydrationPromise;
  await until("the queue to be found", () => second.queueStore.getSnapshot().length === 3);
  expect(await second.cancelQueued(second.queueStore.getSnapshot()[1]!.id)).toBe(true);
  gates.open("hold the queue");
  await running;
  const conversation = [
    ...["hold the queue", 'You said "hold the queue" after 0.'],
    ...["second", 'You said "second" after 2.'],
    ...["fourth", 'You said "fourth" after 4.'],
  ];
  for (const controller of [first, second]) {
    await until("all answers", () => texts(controller).join() === conversation.join());
    await until("an empty queue", () => controller.queueStore.getSnapshot().length === 0);
    expect(controller.rootStore.getSnapshot().error).toBeUndefined();
  }
});
