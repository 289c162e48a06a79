import { HumanMessage } from "@langchain/core/messages";
import { describe, expect, it } from "vitest";
import type { GraphChunk } from "../../graphs/graph-runtime.ts";
import { ProtocolEventMapper } from "./protocol-events.ts";

type Mode = Extract<GraphChunk, { kind: "chunk" }>["mode"];
const chunk = (mode: Mode, payload: unknown, ...namespace: string[]): GraphChunk => ({
  kind: "chunk",
  namespace,
  mode,
  payload,
});
const mapper = () => new ProtocolEventMapper("agent", () => 5);
const short = (events: ReturnType<ProtocolEventMapper["map"]>) =>
  events.map(({ method, params }) => [method, params.namespace.join("|"), params.data] as const);

describe("values", () => {
  it("come flat and without the marker of an interrupt", () => {
    const payload = { messages: [new HumanMessage({ id: "h", content: "hi" })], __interrupt__: [] };
    expect(short(mapper().map(chunk("values", payload)))).toEqual([
      ["values", "", { messages: [expect.objectContaining({ type: "human", content: "hi", id: "h" })] }],
    ]);
  });

  it("are not sent when they are empty", () => {
    expect(mapper().map(chunk("values", {}))).toEqual([]);
    expect(mapper().snapshot({})).toEqual([]);
  });
});

describe("interrupts", () => {
  const interrupts = { __interrupt__: [{ id: "i1", value: { question: "?" } }] };

  it("are requested once per run, wherever the graph repeats them", () => {
    const events = mapper();
    const sent = [
      ...events.map(chunk("updates", interrupts, "below:1")),
      ...events.map(chunk("values", interrupts, "below:1")),
      ...events.map(chunk("values", interrupts)),
    ];
    expect(short(sent)).toEqual([
      ["lifecycle", "below:1", { event: "started", graph_name: "below" }],
      [
        "input.requested",
        "below:1",
        { interrupt_id: "i1", payload: { question: "?" }, value: { question: "?" } },
      ],
    ]);
  });
});

describe("updates", () => {
  it("name their node, one event each", () => {
    const sent = mapper().map(chunk("updates", { left: { n: 1 }, right: null }));
    expect(sent.map((event) => (event.params as { node?: string }).node)).toEqual(["left", "right"]);
    expect(short(sent)).toEqual([
      ["updates", "", { node: "left", values: { n: 1 } }],
      ["updates", "", { node: "right", values: { value: null } }],
    ]);
  });
});

describe("tools", () => {
  it.each([
    [
      { event: "on_tool_start", toolCallId: "c", name: "add", input: '{"a":1}' },
      { event: "tool-started", tool_call_id: "c", tool_name: "add", input: { a: 1 } },
    ],
    [
      { event: "on_tool_event", toolCallId: "c", data: { part: 1 } },
      { event: "tool-output-delta", tool_call_id: "c", delta: '{"part":1}' },
    ],
    [
      { event: "on_tool_end", toolCallId: "c", output: "3" },
      { event: "tool-finished", tool_call_id: "c", output: "3" },
    ],
    [
      { event: "on_tool_error", toolCallId: "c", error: new Error("no") },
      { event: "tool-error", tool_call_id: "c", message: "no" },
    ],
  ])("%j", (payload, data) => {
    expect(short(mapper().map(chunk("tools", payload)))).toEqual([["tools", "", data]]);
  });
});

describe("checkpoints", () => {
  it("are sent in short, also from whole ones", () => {
    const brief = { id: "b", parent_id: "a", step: 1, source: "loop" };
    expect(short(mapper().map(chunk("checkpoints", brief)))).toEqual([["checkpoints", "", brief]]);
    const whole = {
      config: { configurable: { checkpoint_id: "b" } },
      parentConfig: { configurable: { checkpoint_id: "a" } },
      metadata: { step: 1, source: "loop" },
      values: { large: true },
    };
    expect(short(mapper().map(chunk("checkpoints", whole)))).toEqual([["checkpoints", "", brief]]);
  });
});

describe("namespaces", () => {
  const begin = (id: string, more: object = {}) => ({ id, name: "tools", input: {}, ...more });

  it("start before their first event and end with their task, before the next event", () => {
    const events = mapper();
    const sent = [
      ...events.map(
        chunk("tasks", begin("t1", { input: { tool_call: { id: "call", name: "x", args: {} } } })),
      ),
      ...events.map(chunk("values", { n: 1 }, "tools:t1")),
      ...events.map(
        chunk("tasks", { ...begin("t9"), metadata: { lc_agent_name: "researcher" } }, "tools:t1"),
      ),
      ...events.map(chunk("tasks", { id: "t1", name: "tools", result: {}, interrupts: [] })),
      ...events.map(chunk("values", { n: 2 })),
    ];
    expect(short(sent).filter(([method]) => method !== "tasks")).toEqual([
      [
        "lifecycle",
        "tools:t1",
        { event: "started", graph_name: "tools", cause: { type: "toolCall", tool_call_id: "call" } },
      ],
      ["values", "tools:t1", { n: 1 }],
      ["lifecycle", "tools:t1", { event: "completed", graph_name: "researcher" }],
      ["values", "", { n: 2 }],
    ]);
  });

  it.each([
    [{ result: {}, interrupts: [{ id: "i" }] }, "interrupted"],
    [{ error: { message: "no" }, interrupts: [] }, "failed"],
  ])("end as their task did: %j", async (end, event) => {
    const events = mapper();
    events.map(chunk("values", { n: 1 }, "tools:t1"));
    events.map(chunk("tasks", { id: "t1", name: "tools", ...end }));
    expect(short(await events.finish("completed"))).toEqual([
      ["lifecycle", "tools:t1", { event, graph_name: "tools" }],
    ]);
  });

  it("that are open at the end are closed, innermost first, each once", async () => {
    const events = mapper();
    events.map(chunk("values", { n: 1 }, "a:1", "b:2"));
    expect(short(await events.finish("failed")).map(([, namespace]) => namespace)).toEqual([
      "a:1|b:2",
      "a:1",
    ]);
    expect(await events.finish("failed")).toEqual([]);
  });
});
