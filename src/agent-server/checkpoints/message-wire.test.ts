import {
  AIMessage,
  AIMessageChunk,
  HumanMessage,
  RemoveMessage,
  ToolMessage,
} from "@langchain/core/messages";
import { DeltaSnapshot } from "@langchain/langgraph-checkpoint";
import { beforeAll, describe, expect, it } from "vitest";
import { loadServerKit } from "../graphs/javascript/graph-kit.ts";
import { type Codec, MessageCodec } from "../graphs/javascript/message-codec.ts";
import { toWire } from "./message-wire.ts";

let codec: Codec;
beforeAll(async () => {
  codec = new MessageCodec(await loadServerKit());
});

const cases: [string, unknown, unknown][] = [
  [
    "a human message",
    new HumanMessage({ content: "hi", id: "1", name: "ann" }),
    { type: "human", content: "hi", id: "1", name: "ann", additional_kwargs: {}, response_metadata: {} },
  ],
  [
    "an answer",
    new AIMessage({
      content: "",
      id: "2",
      tool_calls: [{ name: "add", args: { a: 1 }, id: "c", type: "tool_call" }],
    }),
    {
      type: "ai",
      content: "",
      id: "2",
      tool_calls: [{ name: "add", args: { a: 1 }, id: "c", type: "tool_call" }],
      invalid_tool_calls: [],
      additional_kwargs: {},
      response_metadata: {},
    },
  ],
  [
    "a chunk of an answer",
    new AIMessageChunk({ content: "a" }),
    {
      type: "ai",
      content: "a",
      tool_calls: [],
      invalid_tool_calls: [],
      tool_call_chunks: [],
      additional_kwargs: {},
      response_metadata: {},
    },
  ],
  [
    "an answer in content blocks",
    new AIMessage({ content: [{ type: "text", text: "x" }], response_metadata: { output_version: "v1" } }),
    {
      type: "ai",
      content: [{ type: "text", text: "x" }],
      tool_calls: [],
      invalid_tool_calls: [],
      additional_kwargs: {},
      response_metadata: { output_version: "v1" },
    },
  ],
  [
    "a tool's answer",
    new ToolMessage({ content: "3", tool_call_id: "c", status: "success", artifact: [1] }),
    {
      type: "tool",
      content: "3",
      tool_call_id: "c",
      status: "success",
      artifact: [1],
      additional_kwargs: {},
      response_metadata: {},
    },
  ],
  [
    "a removal",
    new RemoveMessage({ id: "9" }),
    { type: "remove", content: [], id: "9", additional_kwargs: {}, response_metadata: {} },
  ],
  ["a Set", new Set([1, "a"]), [1, "a"]],
  ["a Map", new Map([["k", 1]]), { k: 1 }],
  ["a Map of other keys", new Map([[1, 2]]), [[1, 2]]],
  ["bytes", { raw: new Uint8Array([1, 254]) }, { raw: "Af4=" }],
  ["a RegExp", /a/g, "/a/g"],
  ["an Error", new Error("broken"), { error: "Error", message: "broken" }],
  ["a snapshot of a channel", new DeltaSnapshot([1]), [1]],
  ["undefined", { a: undefined, b: [undefined, 1] }, { b: [null, 1] }],
  ["a Date", { at: new Date(0) }, { at: "1970-01-01T00:00:00.000Z" }],
  ["odd numbers", [Number.NaN, 1.5], [null, 1.5]],
];

describe("toWire", () => {
  it.each(cases)("makes %s plain", (_, value, expected) => {
    expect(toWire(value)).toEqual(expected);
  });

  it.each(cases)("makes %s, as a checkpoint holds it, plain too", async (_, value, expected) => {
    const { type, text } = await codec.encode([value]);
    expect(type).toBe("json");
    expect(toWire(JSON.parse(text))).toEqual([expected]);
  });

  it("finds messages at any depth", () => {
    const wire = toWire({ a: { b: [{ messages: [new HumanMessage("x")] }] } });
    expect(wire).toMatchObject({ a: { b: [{ messages: [{ type: "human", content: "x" }] }] } });
  });

  it("takes a message of a copy of the library it has never seen", () => {
    class Foreign {
      lc_kwargs = { content: "x", tool_call_id: "c" };
      content = "changed";
      _getType() {
        return "tool";
      }
    }
    expect(toWire(new Foreign())).toMatchObject({ type: "tool", content: "changed", tool_call_id: "c" });
  });

  it("keeps the type of the message over a field of that name", () => {
    expect(toWire(new HumanMessage({ content: "x", type: "robot" } as never))).toMatchObject({
      type: "human",
    });
  });

  it("cuts cycles, but not what merely appears twice", () => {
    const shared = { a: 1 };
    const value: Record<string, unknown> = { one: shared, two: shared };
    value.self = value;
    expect(toWire(value)).toEqual({ one: { a: 1 }, two: { a: 1 }, self: "[Circular]" });
  });

  it("keeps user data that happens to have a field named lc", () => {
    expect(toWire({ lc: 1, other: true })).toEqual({ lc: 1, other: true });
    expect(toWire({ lc: 1, type: "constructor", id: ["x"], kwargs: { a: 1 } })).toEqual({
      lc: 1,
      type: "constructor",
      id: ["x"],
      kwargs: { a: 1 },
    });
  });

  it("says null for nothing", () => {
    expect(toWire(undefined)).toBeNull();
  });
});
