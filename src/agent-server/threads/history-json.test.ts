import { randomUUID } from "node:crypto";
import { AIMessage, HumanMessage, ToolMessage } from "@langchain/core/messages";
import {
  Annotation,
  Command,
  DeltaChannel,
  entrypoint,
  interrupt,
  MessageGraph,
  MessagesAnnotation,
  Send,
  START,
  type StateDefinition,
  StateGraph,
} from "@langchain/langgraph";
import { LastValue } from "@langchain/langgraph/channels";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createTestDatabase, type TestDatabase } from "../../../tests/support/database.ts";
import { systemClock } from "../../platform/clock.ts";
import { raw } from "../../platform/db/raw.ts";
import { createLogger } from "../../platform/logger.ts";
import { CheckpointStore } from "../checkpoints/checkpoint-store.ts";
import { GraphRegistry } from "../graphs/graph-registry.ts";
import { type GraphKit, loadServerKit } from "../graphs/javascript/graph-kit.ts";
import { carriedChannels, checkpointerKey, isRepeatable } from "../graphs/javascript/graph-state.ts";
import { type CompiledGraph, fixedGraph } from "../graphs/javascript/loaded-graph.ts";
import { SaverFactory } from "../graphs/javascript/saver-factory.ts";
import { createStore } from "../store/store.ts";
import { StateService } from "./state-service.ts";

const workspaceId = randomUUID();
const State = Annotation.Root({
  ...MessagesAnnotation.spec,
  anything: Annotation<unknown>,
  list: Annotation<unknown[]>({ reducer: (left, right) => [...left, ...right], default: () => [] }),
});

/** Repeats its input and keeps everything it was given. */
const keep = new StateGraph(State)
  .addNode("keep", (state) => ({
    messages: [new AIMessage({ content: `heard ${state.messages.at(-1)?.text}`, id: randomUUID() })],
    list: [{ at: state.messages.length }],
  }))
  .addEdge(START, "keep")
  .compile();
const inner = new StateGraph(State)
  .addNode("ask", () => ({ list: [interrupt({ question: "grün?" })], anything: { inner: true } }))
  .addEdge(START, "ask");
const outer = new StateGraph(State)
  .addNode("inner", inner.compile())
  .addNode("spread", () => new Command({ goto: [1, 2].map((n) => new Send("one", { list: [n] })) }), {
    ends: ["one"],
  })
  .addNode("one", (state: { list: unknown[] }) => ({ list: state.list }))
  .addEdge(START, "inner")
  .addEdge("inner", "spread")
  .compile();
/** Its state is a list of messages, in no field. */
const rooted = new MessageGraph()
  .addNode("shout", (messages) => new AIMessage(`${messages.at(-1)?.text}!`))
  .addEdge(START, "shout")
  .compile();
const functional = entrypoint("functional", async (input: { n: number }) => {
  const answer = interrupt("more?");
  return entrypoint.final({ value: { n: input.n, answer }, save: { messages: [new HumanMessage("saved")] } });
});
const cached = new StateGraph(State)
  .addNode("keep", () => ({ list: [1] }), {
    cachePolicy: { keyFunc: ([state]) => String((state as { list: unknown[] }).list.length) },
  })
  .addEdge(START, "keep")
  .compile();
const world = { now: 0 };
/** What it hands out is its author's, and changes with the time. */
class Expiring extends LastValue<string> {
  override fromCheckpoint(value?: string): this {
    const channel = new Expiring() as this;
    channel.value = value === undefined ? [] : [value];
    return channel;
  }
  override get(): string {
    return world.now > 0 ? "expired" : super.get();
  }
  override checkpoint(): string {
    return super.get();
  }
}
const oneNode = (fields: Record<string, unknown>, update: object) =>
  new StateGraph(Annotation.Root(fields as StateDefinition))
    .addNode("one", () => update as never)
    .addEdge(START, "one")
    .compile();
const expiring = oneNode({ ...MessagesAnnotation.spec, token: () => new Expiring() }, { token: "secret" });
const differences = oneNode(
  { list: () => new DeltaChannel((list: unknown[], writes: unknown[]) => [...list, ...writes.flat()]) },
  { list: ["node"] },
);
const graphs = { keep, outer, rooted, functional, cached, expiring, differences } as unknown as Record<
  string,
  CompiledGraph
>;

let database: TestDatabase;
let kit: GraphKit;
let savers: SaverFactory;
let states: StateService;

beforeAll(async () => {
  database = await createTestDatabase();
  kit = await loadServerKit();
  const checkpoints = new CheckpointStore(database.database);
  savers = new SaverFactory(checkpoints);
  const loaded = Object.entries(graphs).map(([graphId, graph]) => {
    const source = { graphId, description: undefined, file: undefined, exportName: graphId };
    return [graphId, fixedGraph(source, graph, kit)] as const;
  });
  const { items } = createStore({
    database: database.database,
    clock: systemClock,
    logger: createLogger({ level: "silent" }),
  });
  const ground = { checkpoints, items, libraryTraces: false };
  states = new StateService({
    database: database.database,
    graphs: GraphRegistry.bind(new GraphRegistry(new Map(loaded)), ground),
    checkpoints,
  });
});
afterAll(() => database.drop());

async function newThread(graphId: string) {
  const threadId = randomUUID();
  await raw`insert into threads (thread_id, workspace_id, metadata)
    values (${threadId}, ${workspaceId}, ${JSON.stringify({ graph_id: graphId })}::jsonb)`.execute(
    database.database.sql,
  );
  const config = { configurable: { thread_id: threadId, [checkpointerKey]: savers.forKit(kit) } };
  const run = (input: unknown, more: object = {}) =>
    graphs[graphId]!.invoke(input as never, { ...config, ...more } as never);
  return { threadId, config, run };
}

/** Both ways of writing the history and each of its states, which must not differ by a byte. */
async function histories(threadId: string, query: Partial<Parameters<StateService["history"]>[2]> = {}) {
  const objects = await states.history(workspaceId, threadId, { limit: 200, ...query });
  // The second time most of it is known.
  for (const _ of [1, 2]) {
    const text = Buffer.from(await states.historyJson(workspaceId, threadId, { limit: 200, ...query }));
    expect(text.toString()).toBe(JSON.stringify(objects));
  }
  const ids = objects.map(({ checkpoint }) => ({ checkpoint_id: String(checkpoint?.checkpoint_id) }));
  for (const id of [{}, ...ids]) {
    for (const subgraphs of [false, true]) {
      const options = { subgraphs, address: { ...query.address, ...id } };
      const state = await states.get(workspaceId, threadId, options);
      for (const _ of [1, 2]) {
        const json = Buffer.from(await states.getJson(workspaceId, threadId, options)).toString();
        expect(json).toBe(JSON.stringify(state));
      }
    }
  }
  return objects;
}

describe("the history as text", () => {
  it("is that of the states, for messages that grow, change and go", async () => {
    const { threadId, run } = await newThread("keep");
    const id = randomUUID();
    await run({ messages: [new HumanMessage({ content: 'grün 🌱 "q" \\ \u2028 \ud800 ', id })] });
    await run({ messages: [{ role: "user", content: [{ type: "text", text: "blocks" }] }] });
    const call = { id: "1", name: "look", args: { deep: [1, { lc: 1 }] }, type: "tool_call" as const };
    await run({ messages: [new AIMessage({ content: "", tool_calls: [call] })] });
    await run({ messages: [new ToolMessage({ content: "seen", tool_call_id: "1", artifact: { a: null } })] });
    await run({ messages: [new HumanMessage({ content: "changed", id })] });
    await run({ messages: [{ type: "remove", id, content: "" }] });
    const history = await histories(threadId);
    expect(history).toHaveLength(18);
    expect(history[0]).toHaveProperty("values.messages.length", 9);
  });

  it.each<[string, unknown]>([
    ["a map", new Map([["a", new Map([[1, 2]])]])],
    ["a set", new Set(["a", { b: 1 }])],
    ["a date", { when: new Date(0) }],
    ["bytes", new Uint8Array([0, 1, 255])],
    ["bytes further down", { bytes: new Uint8Array([7]) }],
    ["undefined", undefined],
    ["undefined further down", { gone: undefined, list: [undefined, 1] }],
    ["null", null],
    ["numbers JSON does not have", [Number.NaN, Number.POSITIVE_INFINITY, -0]],
    ["an error", new RangeError("too far")],
    ["a pattern", /a+/gi],
    ["a long text", "ü".repeat(2_000)],
    ["an empty list", []],
    ["what looks like the library's records", { lc: 1, type: "constructor", id: ["x"], kwargs: {} }],
    ["a key nobody uses", JSON.parse('{"__proto__": {"a": 1}, "lc": 3}')],
  ])("is that of the states, for %s", async (_, value) => {
    const { threadId, run } = await newThread("keep");
    await run({ messages: [], anything: value, list: [value] });
    await run({ messages: [new HumanMessage("again")], list: [value, value] });
    await histories(threadId);
  });

  it("is that of the states, with interrupts, subgraphs, sends and an update with the answer", async () => {
    const { threadId, run } = await newThread("outer");
    await run({ messages: [new HumanMessage("hi")] });
    const stopped = await histories(threadId);
    expect(stopped[0]?.interrupts).toMatchObject([{ value: { question: "grün?" } }]);
    // With an id: the reducer gives one to a message without, each time the state is computed.
    const message = new HumanMessage({ content: "by command", id: randomUUID() });
    await run(new Command({ resume: "yes", update: { messages: [message] } }));
    const history = await histories(threadId);
    expect(history[0]?.values).toMatchObject({ list: ["yes", 1, 2] });
    const address = { checkpoint_ns: stopped[0]?.tasks[0]?.checkpoint?.checkpoint_ns as string };
    const ofInner = await histories(threadId, { address });
    expect(ofInner.map(({ next }) => next)).toEqual([[], ["ask"], ["__start__"]]);
    expect(await states.get(workspaceId, threadId, { address })).toEqual(ofInner[0]);
    const before = { checkpoint_id: history[1]?.checkpoint?.checkpoint_id as string };
    expect(await histories(threadId, { before, limit: 2 })).toHaveLength(2);
    expect(await histories(threadId, { filter: { source: "input" } })).not.toHaveLength(0);
  });

  it("is that of the states, after a fork from the middle", async () => {
    const { threadId, run, config } = await newThread("keep");
    for (const text of ["a", "b", "c"]) await run({ messages: [new HumanMessage(text)] });
    const middle = (await histories(threadId))[4]?.checkpoint?.checkpoint_id;
    const from = { configurable: { ...config.configurable, checkpoint_id: middle } };
    await keep.updateState(from, { messages: [new HumanMessage("other")] }, "keep");
    await run({ messages: [new HumanMessage("d")] });
    expect(await histories(threadId)).toHaveLength(13);
  });

  it.each(["rooted", "functional", "cached"])(
    "is that of the states of a graph that is %s",
    async (graphId) => {
      const { threadId, run } = await newThread(graphId);
      await run(
        { rooted: [new HumanMessage("hey")], functional: { n: 1 }, cached: { list: [{ a: 1 }] } }[graphId],
      );
      if (graphId === "functional") await run(new Command({ resume: [new HumanMessage("yes")] }));
      expect((await histories(threadId)).length).toBeGreaterThan(1);
    },
  );

  it("is computed each time where a channel is the author's own", async () => {
    const { threadId, run } = await newThread("expiring");
    await run({ messages: [new HumanMessage("hi")] });
    expect((await histories(threadId))[0]?.values).toMatchObject({ token: "secret" });
    world.now = 1;
    try {
      expect((await histories(threadId))[0]?.values).toMatchObject({ token: "expired" });
    } finally {
      world.now = 0;
    }
  });

  it("has the values of channels that are stored as differences", async () => {
    const { threadId, run } = await newThread("differences");
    await run({ list: ["first"] });
    await run({ list: ["second"] });
    const values = (await histories(threadId)).map((state) => state.values);
    expect(values).toEqual([
      { list: ["first", "node", "second", "node"] },
      { list: ["first", "node", "second"] },
      { list: ["first", "node"] },
      { list: ["first", "node"] },
      { list: ["first"] },
      { list: [] },
    ]);
    await states.update(workspaceId, threadId, { values: { list: ["changed"] }, asNode: "one" });
    expect((await states.get(workspaceId, threadId)).values).toEqual({
      list: ["first", "node", "second", "node", "changed"],
    });
  });

  it("is nobody else's, although it was computed before", async () => {
    const { threadId, run } = await newThread("keep");
    await run({ messages: [new HumanMessage("mine")] });
    await histories(threadId);
    const refused = { code: "thread.not_found" };
    await expect(states.historyJson(randomUUID(), threadId, { limit: 10 })).rejects.toMatchObject(refused);
    await expect(states.getJson(randomUUID(), threadId)).rejects.toMatchObject(refused);
    await raw`delete from threads where thread_id = ${threadId}`.execute(database.database.sql);
    await expect(states.historyJson(workspaceId, threadId, { limit: 10 })).rejects.toMatchObject(refused);
  });

  it("is empty for a thread that never ran", async () => {
    const { threadId } = await newThread("keep");
    expect(await histories(threadId)).toEqual([]);
  });

  it("leaves graphs alone whose nodes look into the values", () => {
    expect(carriedChannels(cached as never)).toEqual(new Set());
    expect(carriedChannels(keep as never)).toEqual(new Set(["messages", "anything", "list"]));
  });

  it.each<[string, boolean, Record<string, unknown>]>([
    ["messages", true, MessagesAnnotation.spec],
    [
      "a list",
      true,
      { list: Annotation({ reducer: (a: number[], b: number[]) => [...a, ...b], default: () => [] }) },
    ],
    ["a value", true, { value: Annotation<string> }],
    [
      "what begins with the time",
      false,
      { at: Annotation({ reducer: (a: number) => a, default: () => Date.now() }) },
    ],
    ["what begins with a map", false, { map: Annotation({ reducer: (a) => a, default: () => new Map() }) }],
    ["a channel of its author", false, { token: () => new Expiring() }],
    ["differences", false, { list: () => new DeltaChannel((a: unknown[]) => a) }],
  ])("counts on the states of a graph with %s: %s", (_, expected, fields) => {
    expect(isRepeatable(oneNode(fields, {}) as unknown as CompiledGraph)).toBe(expected);
  });
});
