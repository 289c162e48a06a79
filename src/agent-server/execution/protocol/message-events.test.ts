import { AIMessage, AIMessageChunk, HumanMessage, ToolMessage } from "@langchain/core/messages";
import { describe, expect, it } from "vitest";
import { MessageEvents } from "./message-events.ts";

const place = ["agent:1"];
const metadata = {
  langgraph_node: "agent",
  ls_provider: "offline",
  ls_model_name: "scripted",
  run_id: "call-1",
};
const mapper = () => new MessageEvents(() => 5);
const dataOf = (events: ReturnType<MessageEvents["map"]>) => events.map((event) => event.params.data);

describe("a library that speaks in content blocks", () => {
  it("is passed on, with the author and the maker of a message", () => {
    const [start] = mapper().map(place, [{ event: "message-start", id: "m1" }, metadata]);
    expect(start).toEqual({
      method: "messages",
      params: {
        namespace: place,
        timestamp: 5,
        node: "agent",
        data: {
          event: "message-start",
          role: "ai",
          id: "m1",
          metadata: { provider: "offline", model: "scripted" },
          run_id: "call-1",
        },
      },
    });
  });

  it("keeps an author that is named", () => {
    const [start] = mapper().map(place, [{ event: "message-start", id: "m1", role: "human" }, metadata]);
    expect(start!.params.data).toMatchObject({ role: "human" });
  });
});

describe("a library that speaks in message chunks", () => {
  it("becomes blocks, one after another: reasoning, text, tool calls", () => {
    const events = mapper();
    const chunks = [
      new AIMessageChunk({ id: "m", content: [{ type: "reasoning", reasoning: "Let " }] }),
      new AIMessageChunk({ id: "m", content: [{ type: "reasoning", reasoning: "me." }] }),
      new AIMessageChunk({ id: "m", content: "Hel" }),
      new AIMessageChunk({ id: "m", content: "lo" }),
      new AIMessageChunk({
        id: "m",
        content: "",
        tool_call_chunks: [{ index: 0, id: "c1", name: "add", args: '{"a"' }],
      }),
      new AIMessageChunk({ id: "m", content: "", tool_call_chunks: [{ index: 0, args: ":1}" }] }),
      new AIMessageChunk({
        id: "m",
        content: "",
        tool_call_chunks: [{ index: 1, id: "c2", name: "sub", args: "oops" }],
      }),
      new AIMessageChunk({
        id: "m",
        content: "",
        usage_metadata: { input_tokens: 1, output_tokens: 2, total_tokens: 3 },
      }),
    ];
    const sent = chunks.flatMap((chunk) => dataOf(events.map(place, [chunk, metadata])));
    const ended = dataOf(events.finishUnder(place.join("|")));
    const plain = [...sent, ...ended].map(({ run_id: _run, metadata: _metadata, ...data }) => data);
    expect(plain).toEqual([
      { event: "message-start", role: "ai", id: "m" },
      { event: "content-block-start", index: 0, content: { type: "reasoning", reasoning: "" } },
      { event: "content-block-delta", index: 0, delta: { type: "reasoning-delta", reasoning: "Let " } },
      { event: "content-block-delta", index: 0, delta: { type: "reasoning-delta", reasoning: "me." } },
      { event: "content-block-finish", index: 0, content: { type: "reasoning", reasoning: "Let me." } },
      { event: "content-block-start", index: 1, content: { type: "text", text: "" } },
      { event: "content-block-delta", index: 1, delta: { type: "text-delta", text: "Hel" } },
      { event: "content-block-delta", index: 1, delta: { type: "text-delta", text: "lo" } },
      { event: "content-block-finish", index: 1, content: { type: "text", text: "Hello" } },
      {
        event: "content-block-start",
        index: 2,
        content: { type: "tool_call_chunk", id: "c1", name: "add", args: "" },
      },
      callDelta(2, { id: "c1", name: "add", args: '{"a"' }),
      callDelta(2, { id: "c1", name: "add", args: '{"a":1}' }),
      {
        event: "content-block-finish",
        index: 2,
        content: { type: "tool_call", id: "c1", name: "add", args: { a: 1 } },
      },
      {
        event: "content-block-start",
        index: 3,
        content: { type: "tool_call_chunk", id: "c2", name: "sub", args: "" },
      },
      callDelta(3, { id: "c2", name: "sub", args: "oops" }),
      {
        event: "content-block-finish",
        index: 3,
        content: {
          type: "invalid_tool_call",
          id: "c2",
          name: "sub",
          args: "oops",
          error: expect.any(String),
        },
      },
      { event: "message-finish", usage: { input_tokens: 1, output_tokens: 2, total_tokens: 3 } },
    ]);
  });

  it("tells a whole message at once, and once only", () => {
    const events = mapper();
    const message = new AIMessage({
      id: "m",
      content: "done",
      tool_calls: [{ id: "c", name: "add", args: { a: 1 } }],
    });
    const sent = dataOf(events.map(place, [message, metadata]));
    expect(sent.map((data) => data.event)).toEqual([
      "message-start",
      "content-block-start",
      "content-block-delta",
      "content-block-finish",
      "content-block-start",
      "content-block-delta",
      "content-block-finish",
      "message-finish",
    ]);
    expect(events.map(place, [message, metadata])).toEqual([]);
    expect(events.finishUnder("")).toEqual([]);
  });

  it("leaves results of tools to their own channel, and names the author of others", () => {
    const events = mapper();
    const result = new ToolMessage({ id: "t", content: "3", tool_call_id: "c" });
    expect(events.map(place, [result, metadata])).toEqual([]);
    const [start] = dataOf(events.map(place, [new HumanMessage({ id: "h", content: "hi" }), metadata]));
    expect(start).toMatchObject({ event: "message-start", role: "human" });
  });

  it("ends only what the finished task has begun", () => {
    const events = mapper();
    events.map(["a:1"], [new AIMessageChunk({ id: "one", content: "x" }), metadata]);
    events.map(["a:1", "b:2"], [new AIMessageChunk({ id: "two", content: "x" }), metadata]);
    events.map(["a:10"], [new AIMessageChunk({ id: "three", content: "x" }), metadata]);
    expect(new Set(events.finishUnder("a:1").map((event) => event.params.namespace.join("|")))).toEqual(
      new Set(["a:1", "a:1|b:2"]),
    );
    expect(events.finishUnder("")).not.toEqual([]);
  });
});

function callDelta(index: number, fields: object) {
  const delta = { type: "block-delta", fields: { type: "tool_call_chunk", ...fields } };
  return { event: "content-block-delta", index, delta };
}
