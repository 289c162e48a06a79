import { randomUUID } from "node:crypto";
import { AIMessage, type BaseMessage, HumanMessage } from "@langchain/core/messages";
import {
  Annotation,
  Command,
  END,
  interrupt,
  MessagesAnnotation,
  Send,
  START,
  StateGraph,
} from "@langchain/langgraph";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createTestDatabase, type TestDatabase } from "../../../../tests/support/database.ts";
import { raw } from "../../../platform/db/raw.ts";
import { listCheckpointValues, readCheckpointValues } from "../../checkpoints/checkpoint-reader.ts";
import { CheckpointStore } from "../../checkpoints/checkpoint-store.ts";
import { type CheckpointSaver, createCheckpointSaver } from "./checkpoint-saver.ts";
import { loadServerKit } from "./graph-kit.ts";

let test: TestDatabase;
let store: CheckpointStore;
let saver: CheckpointSaver;

beforeAll(async () => {
  test = await createTestDatabase();
  store = new CheckpointStore(test.database);
  saver = createCheckpointSaver(await loadServerKit(), store);
});
afterAll(() => test.drop());

const State = Annotation.Root({
  ...MessagesAnnotation.spec,
  count: Annotation<number>({ reducer: (left, right) => left + right, default: () => 0 }),
  note: Annotation<string | null>,
  raw: Annotation<Uint8Array>,
});

const echo = new StateGraph(State)
  .addNode("echo", (state) => ({
    messages: [new AIMessage(`You said: ${state.messages.at(-1)?.text}`)],
    count: 1,
  }))
  .addEdge(START, "echo")
  .addEdge("echo", END);

const config = (threadId: string, more: Record<string, unknown> = {}) => ({
  configurable: { thread_id: threadId, ...more },
});
const texts = (messages: BaseMessage[]) => messages.map((message) => message.text);

describe.each(["sync", "async", "exit"] as const)("a graph with durability %s", (durability) => {
  it("goes on where it was", async () => {
    const graph = echo.compile({ checkpointer: saver });
    const threadId = randomUUID();
    await graph.invoke({ messages: [new HumanMessage("one")] }, { ...config(threadId), durability });
    await graph.invoke({ messages: [new HumanMessage("two")] }, { ...config(threadId), durability });
    const state = await graph.getState(config(threadId));
    expect(texts(state.values.messages)).toEqual(["one", "You said: one", "two", "You said: two"]);
    expect(state.values.messages[1]).toBeInstanceOf(AIMessage);
    expect(state.values.count).toBe(2);
    expect(state.next).toEqual([]);
  });
});

describe("history", () => {
  it("is newest first and tells each step's values", async () => {
    const graph = echo.compile({ checkpointer: saver });
    const threadId = randomUUID();
    await graph.invoke({ messages: [new HumanMessage("one")], note: "kept" }, config(threadId));
    await graph.invoke({ messages: [new HumanMessage("two")] }, config(threadId));
    const history = [];
    for await (const state of graph.getStateHistory(config(threadId))) history.push(state);
    expect(history.map((state) => state.metadata?.step)).toEqual([4, 3, 2, 1, 0, -1]);
    expect(history.map((state) => state.values.messages?.length ?? 0)).toEqual([4, 3, 2, 2, 1, 0]);
    expect(history.map((state) => state.values.note)).toEqual([
      "kept",
      "kept",
      "kept",
      "kept",
      "kept",
      undefined,
    ]);
    const inputs = [];
    for await (const state of graph.getStateHistory(config(threadId), { filter: { source: "input" } })) {
      inputs.push(state.metadata?.step);
    }
    expect(inputs).toEqual([2, -1]);
  });

  it("keeps two branches of one checkpoint apart", async () => {
    const graph = echo.compile({ checkpointer: saver });
    const threadId = randomUUID();
    await graph.invoke({ messages: [new HumanMessage("one")] }, config(threadId));
    const fork = (await graph.getState(config(threadId))).config;
    await graph.invoke({ messages: [new HumanMessage("left")] }, config(threadId));
    const left = (await graph.getState(config(threadId))).config;
    await graph.invoke({ messages: [new HumanMessage("right")] }, fork as never);
    const right = (await graph.getState(config(threadId))).config;
    const read = async (at: typeof left) => texts((await graph.getState(at)).values.messages).slice(2);
    expect(await read(left)).toEqual(["left", "You said: left"]);
    expect(await read(right)).toEqual(["right", "You said: right"]);
  });

  it("copies a first checkpoint with all its values", async () => {
    const graph = echo.compile({ checkpointer: saver });
    const threadId = randomUUID();
    await graph.invoke({ messages: [new HumanMessage("one")] }, config(threadId));
    const states = [];
    for await (const state of graph.getStateHistory(config(threadId))) states.push(state);
    const copy = await graph.updateState(states.at(-1)!.config, null, "__copy__");
    const [copied, original] = await Promise.all(
      [copy, states.at(-1)!.config].map((at) => saver.getTuple(at as never)),
    );
    expect(copied?.checkpoint.channel_values).toEqual(original?.checkpoint.channel_values);
    expect(Object.keys(copied?.checkpoint.channel_values ?? {})).not.toEqual([]);
  });
});

describe("interrupts", () => {
  const approval = new StateGraph(State)
    .addNode("ask", () => {
      const first = interrupt({ question: "first?" });
      const second = interrupt({ question: "second?" });
      return { note: `${first} then ${second}` };
    })
    .addEdge(START, "ask");

  it("stops, resumes twice in one node, and ends with both answers", async () => {
    const graph = approval.compile({ checkpointer: saver });
    const threadId = randomUUID();
    await graph.invoke({ messages: [] }, config(threadId));
    const waiting = await graph.getState(config(threadId));
    expect(waiting.next).toEqual(["ask"]);
    expect(waiting.tasks[0]?.interrupts[0]?.value).toEqual({ question: "first?" });
    await graph.invoke(new Command({ resume: "yes" }), config(threadId));
    const still = await graph.getState(config(threadId));
    expect(still.tasks[0]?.interrupts[0]?.value).toEqual({ question: "second?" });
    const result = await graph.invoke(new Command({ resume: "no" }), config(threadId));
    expect(result.note).toBe("yes then no");
    expect((await graph.getState(config(threadId))).next).toEqual([]);
  });

  it("resumes inside a subgraph", async () => {
    const outer = new StateGraph(State)
      .addNode("inner", approval.compile())
      .addEdge(START, "inner")
      .compile({ checkpointer: saver });
    const threadId = randomUUID();
    await outer.invoke({ messages: [] }, config(threadId));
    const waiting = await outer.getState(config(threadId), { subgraphs: true });
    expect(waiting.tasks[0]?.state).toMatchObject({ next: ["ask"] });
    await outer.invoke(new Command({ resume: "a" }), config(threadId));
    const result = await outer.invoke(new Command({ resume: "b" }), config(threadId));
    expect(result.note).toBe("a then b");
  });
});

describe("values", () => {
  it("sends the same node many inputs at once", async () => {
    const graph = new StateGraph(State)
      .addNode("work", (state: { n: number }) => ({ count: state.n }))
      .addConditionalEdges(START, () => [1, 2, 3].map((n) => new Send("work", { n })))
      .compile({ checkpointer: saver, interruptBefore: ["work"] });
    const threadId = randomUUID();
    await graph.invoke({ messages: [] }, config(threadId));
    expect((await graph.invoke(null, config(threadId))).count).toBe(6);
  });

  it("brings bytes, NUL, half a surrogate pair and a megabyte back", async () => {
    const graph = echo.compile({ checkpointer: saver });
    const threadId = randomUUID();
    const bytes = new Uint8Array(1_000_000).map((_, index) => index % 256);
    const note = `nul \0 half \ud83d ${"é".repeat(500_000)}`;
    await graph.invoke({ messages: [new HumanMessage("a\0b \udc00")], note, raw: bytes }, config(threadId));
    const { values } = await graph.getState(config(threadId));
    expect(values.note === note).toBe(true);
    expect(Buffer.compare(values.raw, bytes)).toBe(0);
    expect(values.messages[0]?.content).toBe("a\0b \udc00");
  });

  it("updates state outside a run", async () => {
    const graph = echo.compile({ checkpointer: saver });
    const threadId = randomUUID();
    await graph.updateState(config(threadId), { messages: [new HumanMessage("set")], count: 5 }, "echo");
    const state = await graph.getState(config(threadId));
    expect(texts(state.values.messages)).toEqual(["set"]);
    expect(state.values.count).toBe(5);
    expect(state.metadata?.source).toBe("update");
  });
});

describe("for a run", () => {
  async function createRun(threadId: string) {
    const runId = randomUUID();
    await raw`with t as (insert into threads (thread_id, workspace_id) values (${threadId}, ${randomUUID()}))
      insert into runs (run_id, thread_id, workspace_id, assistant_id, graph_id, status, multitask_strategy,
        kwargs_json, attempt)
      values (${runId}, ${threadId}, ${randomUUID()}, ${randomUUID()}, 'echo', 'running', 'enqueue', '{}', 1)`.execute(
      test.database.sql,
    );
    return { runId, attempt: 1 };
  }

  it("puts the run's metadata on every checkpoint", async () => {
    const threadId = randomUUID();
    const fence = await createRun(threadId);
    const forRun = saver.forRun({ fence, metadata: { run_id: fence.runId, step: "not this one" } });
    const graph = echo.compile({ checkpointer: forRun });
    await graph.invoke({ messages: [new HumanMessage("x")] }, config(threadId));
    for await (const { metadata } of forRun.list(config(threadId))) {
      expect(metadata).toMatchObject({ run_id: fence.runId, step: expect.any(Number) });
    }
    expect(await store.hasCheckpointOf(threadId, fence.runId)).toBe(true);
  });

  it("fails the graph once the run belongs to another attempt", async () => {
    const threadId = randomUUID();
    const fence = await createRun(threadId);
    const graph = new StateGraph(State)
      .addNode("lose", async () => {
        await raw`update runs set attempt = 2 where run_id = ${fence.runId}`.execute(test.database.sql);
        return { note: "too late" };
      })
      .addEdge(START, "lose")
      .compile({ checkpointer: saver.forRun({ fence }) });
    const run = graph.invoke(
      { messages: [new HumanMessage("x")] },
      { ...config(threadId), durability: "sync" },
    );
    await expect(run).rejects.toMatchObject({ code: "run.lease_lost" });
    const state = await echo.compile({ checkpointer: saver }).getState(config(threadId));
    expect(state.values.note).toBeUndefined();
  });
});

describe("reading without the graph", () => {
  it("gives values and history in wire form", async () => {
    const graph = echo.compile({ checkpointer: saver });
    const threadId = randomUUID();
    await graph.invoke({ messages: [new HumanMessage({ content: "one", id: "1" })] }, config(threadId));
    const read = await readCheckpointValues(store, { threadId, checkpointNs: "" });
    expect(read?.channelValues.messages).toMatchObject([
      { type: "human", content: "one", id: "1" },
      { type: "ai", content: "You said: one" },
    ]);
    expect(read?.channelValues.count).toBe(1);
    const steps = [];
    for await (const one of listCheckpointValues(store, { threadId, checkpointNs: "" })) {
      steps.push((one.metadata as { step: number }).step);
    }
    expect(steps).toEqual([1, 0, -1]);
    expect(await readCheckpointValues(store, { threadId: randomUUID(), checkpointNs: "" })).toBeUndefined();
  });
});

describe("a config without a thread", () => {
  it("is refused with what is missing", async () => {
    const graph = echo.compile({ checkpointer: saver });
    await expect(graph.invoke({ messages: [] }, { configurable: {} })).rejects.toThrow("thread_id");
    expect(await saver.getTuple({ configurable: {} })).toBeUndefined();
  });
});
