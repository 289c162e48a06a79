import { Annotation, interrupt, START, StateGraph } from "@langchain/langgraph";
import type { ThreadState } from "@langchain/langgraph-sdk";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { startTestAgentServer, type TestAgentServer } from "../../../tests/support/agent-server.ts";
import { waitUntil } from "../../../tests/support/components/wait-until.ts";
import { createTestDatabase, type TestDatabase } from "../../../tests/support/database.ts";
import { GraphRegistry } from "../graphs/graph-registry.ts";
import { loadServerKit } from "../graphs/javascript/graph-kit.ts";
import { type CompiledGraph, factoryGraph, fixedGraph } from "../graphs/javascript/loaded-graph.ts";

const State = Annotation.Root({
  steps: Annotation<string[]>({ reducer: (all, more) => [...all, ...more], default: () => [] }),
});
const took = (step: string) => () => ({ steps: [step] });

const plan = new StateGraph(State)
  .addNode("outline", took("outline"))
  .addNode("draft", took("draft"))
  .addEdge(START, "outline")
  .addEdge("outline", "draft")
  .compile();
const signing = new StateGraph(State)
  .addNode("sign", () => ({ steps: [`signed ${String(interrupt("who signs?"))}`] }))
  .addEdge(START, "sign")
  .compile();
const ship = new StateGraph(State)
  .addNode("pack", took("pack"))
  .addNode("signing", signing)
  .addEdge(START, "pack")
  .addEdge("pack", "signing")
  .compile();
/** Keeps another kind of thing where the others keep their steps. */
const count = new StateGraph(Annotation.Root({ steps: Annotation<unknown>(), total: Annotation<number>() }))
  .addNode("add", () => ({ steps: "none", total: 1 }))
  .addEdge(START, "add")
  .compile();
const endless = new StateGraph(State)
  .addNode("wait", () => new Promise<never>(() => undefined))
  .addEdge(START, "wait")
  .compile();
const graphs = { plan, ship, count, endless } as unknown as Record<string, CompiledGraph>;

let database: TestDatabase;
let all: TestAgentServer;
let failingFactory = false;
const servers: TestAgentServer[] = [];

/** A server with these graphs alone, over the threads of the others. */
async function serve(...names: string[]): Promise<TestAgentServer> {
  const kit = await loadServerKit();
  const source = (graphId: string) => ({
    ...{ graphId, exportName: graphId, description: undefined, file: undefined },
  });
  const loaded = names.map((name) => [name, fixedGraph(source(name), graphs[name]!, kit)] as const);
  const made = factoryGraph(
    source("made"),
    () => {
      if (failingFactory) throw new Error("no key");
      return plan;
    },
    kit,
  );
  const registry = new GraphRegistry(new Map([...loaded, ["made", made]]));
  const server = await startTestAgentServer(database.url, { graphs: registry });
  servers.push(server);
  return server;
}

beforeAll(async () => {
  database = await createTestDatabase();
  all = await serve("plan", "ship", "count");
});
afterAll(async () => {
  for (const server of servers) await server.stop();
  await database.drop();
});

/** A thread on which these graphs ran, one after the other; `ship` is answered. */
async function threadOf(...graphIds: string[]): Promise<string> {
  const { thread_id } = await all.client.threads.create();
  for (const graphId of graphIds) {
    await all.client.runs.wait(thread_id, graphId, { input: { steps: [graphId] } });
    if (graphId === "ship") await all.client.runs.wait(thread_id, graphId, { command: { resume: "Ada" } });
  }
  return thread_id;
}

const graphOf = ({ metadata }: ThreadState) => (metadata as Record<string, unknown> | null)?.graph_id;
const idOf = (state: ThreadState | undefined) => state?.checkpoint.checkpoint_id as string;
/** Oldest first: which graph, what comes next, and which tasks are listed. */
const outline = (history: ThreadState[]) =>
  history.map((state) => [graphOf(state), state.next, state.tasks.map(({ name }) => name)]).reverse();

const steps = {
  plan: ["__start__", "outline", "draft"].map((name) => ["plan", [name], [name]]).concat([["plan", [], []]]),
  ship: ["__start__", "pack", "signing"].map((name) => ["ship", [name], [name]]).concat([["ship", [], []]]),
};

describe("a thread on which several graphs ran", () => {
  it("tells at every checkpoint what its own graph does next", async () => {
    const threadId = await threadOf("plan", "ship", "plan");
    const history = await all.client.threads.getHistory<{ steps: string[] }>(threadId, { limit: 100 });
    expect(outline(history)).toEqual([...steps.plan, ...steps.ship, ...steps.plan]);
    expect(history[0]?.values.steps.slice(-4)).toEqual(["signed Ada", "plan", "outline", "draft"]);
    const ids = history.map(idOf);
    expect(ids).toEqual(ids.toSorted().reverse());
  });

  it("tells it in parts and filtered as well", async () => {
    const threadId = await threadOf("plan", "ship");
    const whole = await all.client.threads.getHistory(threadId, { limit: 100 });
    const before = { configurable: { checkpoint_id: idOf(whole[2]) } };
    const part = await all.client.threads.getHistory(threadId, { limit: 3, before });
    expect(part).toEqual(whole.slice(3, 6));
    expect(new Set(part.map(graphOf))).toEqual(new Set(["plan", "ship"]));
    const ofPlan = await all.client.threads.getHistory(threadId, {
      limit: 9,
      metadata: { graph_id: "plan" },
    });
    expect(outline(ofPlan)).toEqual(steps.plan);
  });

  it("tells the interrupt of a graph that is not the last, and the state of its subgraph", async () => {
    const threadId = await threadOf("plan");
    await all.client.runs.wait(threadId, "ship", { input: { steps: [] } });
    const asked = await all.client.threads.getState(threadId);
    await all.client.runs.wait(threadId, "plan", { input: { steps: ["again"] } });

    const read = await all.client.threads.getState(threadId, idOf(asked));
    expect(read).toMatchObject({ next: ["signing"], tasks: [{ name: "signing" }] });
    expect(read.tasks[0]?.interrupts).toMatchObject([{ value: "who signs?" }]);
    const within = await all.client.threads.getState(threadId, idOf(asked), { subgraphs: true });
    expect(within.tasks[0]?.state).toMatchObject({ next: ["sign"], tasks: [{ name: "sign" }] });
    // They stand at its tasks; a list of all is for the whole thread.
    expect(within.tasks[0]?.state).not.toHaveProperty("interrupts");
    expect(within).toMatchObject({ interrupts: [{ value: "who signs?" }] });
    const checkpoint = asked.tasks[0]?.checkpoint as { thread_id: string; checkpoint_ns: string };
    expect(await all.client.threads.getState(threadId, checkpoint as never)).toMatchObject({
      next: ["sign"],
      values: { steps: expect.arrayContaining(["pack"]) },
    });
    const ofSubgraph = await all.client.threads.getHistory(threadId, { checkpoint: checkpoint as never });
    expect(outline(ofSubgraph)).toEqual(["__start__", "sign"].map((name) => ["ship", [name], [name]]));
  });

  it("keeps apart what the graphs keep under one name", async () => {
    const threadId = await threadOf("plan", "count", "plan");
    const history = await all.client.threads.getHistory(threadId, { limit: 100 });
    const states = history.reverse().filter(({ next }) => next.length === 0);
    expect(states.map(({ values }) => values)).toMatchObject([
      { steps: ["plan", "outline", "draft"] },
      { steps: "none", total: 1 },
      { steps: expect.anything() },
    ]);
  });

  it("is changed at an older checkpoint by the graph that wrote it, and goes on from there", async () => {
    const threadId = await threadOf("plan", "ship");
    const history = await all.client.threads.getHistory(threadId, { limit: 100 });
    const waiting = history.find(({ next }) => next[0] === "outline");
    const update = { values: { steps: ["by hand"] }, asNode: "outline", checkpointId: idOf(waiting) };
    await all.client.threads.updateState(threadId, update);
    const changed = await all.client.threads.getState<{ steps: string[] }>(threadId);
    expect(changed).toMatchObject({ next: ["draft"], values: { steps: ["plan", "by hand"] } });
    expect(await all.client.threads.get(threadId)).toMatchObject({
      metadata: { graph_id: "plan" },
      values: { steps: ["plan", "by hand"] },
    });
    await all.client.runs.wait(threadId, "ship", { input: { steps: [] } });
    expect(await all.client.threads.getState(threadId, idOf(changed))).toMatchObject({ next: ["draft"] });
  });
});

describe("a graph that is gone", () => {
  it("leaves its checkpoints to the last graph of the thread", async () => {
    const threadId = await threadOf("plan", "ship");
    const whole = await all.client.threads.getHistory(threadId, { limit: 100 });
    const few = await serve("ship");
    const history = await few.client.threads.getHistory(threadId, { limit: 100 });
    expect(history.map(idOf)).toEqual(whole.map(idOf));
    expect(outline(history).slice(4)).toEqual(steps.ship);
    const older = whole.find(({ next }) => next[0] === "draft");
    expect(await few.client.threads.getState(threadId, idOf(older))).toMatchObject({
      values: { steps: ["plan", "outline"] },
      next: [],
    });
  });

  it("does not hide what other graphs did before it", async () => {
    const threadId = await threadOf("ship", "plan");
    const history = await all.client.threads.getHistory(threadId, { limit: 100 });
    const packing = history.find(({ next }) => next[0] === "pack");
    const few = await serve("ship");
    expect(await few.client.threads.getState(threadId, idOf(packing))).toMatchObject({ next: ["pack"] });
    await expect(few.client.threads.getState(threadId)).rejects.toThrow(/404.*Graph 'plan' not found/);
  });

  it("does not stop a later run from being rolled back", async () => {
    const threadId = await threadOf("plan");
    const few = await serve("endless");
    const { run_id } = await few.client.runs.create(threadId, "endless", { input: { steps: ["more"] } });
    await waitUntil(async () => (await few.client.runs.get(threadId, run_id)).status === "running", {
      what: "the run to begin",
      timeoutMs: 10_000,
    });
    await few.client.runs.cancel(threadId, run_id, true, "rollback");
    await waitUntil(async () => (await few.client.threads.get(threadId)).status !== "busy", {
      what: "the run to be forgotten",
      timeoutMs: 10_000,
    });
    expect(await few.client.threads.get(threadId)).toMatchObject({
      values: { steps: ["plan", "outline", "draft"] },
      metadata: { graph_id: "plan" },
    });
  });

  it("is treated like one that cannot be made any more", async () => {
    const threadId = await threadOf("made", "ship");
    failingFactory = true;
    const history = await all.client.threads.getHistory(threadId, { limit: 100 });
    failingFactory = false;
    expect(outline(history).slice(4)).toEqual(steps.ship);
    const again = await all.client.threads.getHistory(threadId, { limit: 100 });
    expect(outline(again).map(([, next]) => next)).toEqual(
      [...steps.plan, ...steps.ship].map(([, next]) => next),
    );
  });
});
