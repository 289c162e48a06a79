import {
  AIMessage,
  AIMessageChunk,
  ChatMessage,
  HumanMessage,
  RemoveMessage,
  SystemMessage,
  ToolMessage,
} from "@langchain/core/messages";
import { Send } from "@langchain/langgraph";
import { beforeAll, describe, expect, it } from "vitest";
import { type GraphKit, loadServerKit } from "./graph-kit.ts";
import { type Codec, MessageCodec, WireCodec } from "./message-codec.ts";

let kit: GraphKit;
let codec: Codec;
beforeAll(async () => {
  kit = await loadServerKit();
  codec = new MessageCodec(kit);
});

const stock = async (value: unknown) => {
  const [type, data] = await kit.serde.dumpsTyped(value);
  return kit.serde.loadsTyped(type, data);
};
const plain = (value: unknown): unknown => JSON.parse(JSON.stringify(value));

const messages = {
  "a human message": new HumanMessage("hello"),
  "a human message with everything": new HumanMessage({
    content: [{ type: "text", text: "x\u0000y \ud800 é" }],
    id: "1",
    name: "ann",
    additional_kwargs: { nested: { deep: [1, null, { a: undefined }] } },
    response_metadata: { snake_case: 1 },
  }),
  "an answer with tool calls": new AIMessage({
    content: "",
    id: "2",
    tool_calls: [{ name: "add", args: { a: 1 }, id: "call", type: "tool_call" }],
    usage_metadata: { input_tokens: 1, output_tokens: 2, total_tokens: 3 },
  }),
  "an answer in content blocks": new AIMessage({
    content: [{ type: "text", text: "hi" }],
    response_metadata: { output_version: "v1" },
    tool_calls: [{ name: "add", args: {}, id: "c", type: "tool_call" }],
  }),
  "a chunk": new AIMessageChunk({
    content: "a",
    tool_call_chunks: [{ name: "add", args: '{"a":1}', id: "c", index: 0, type: "tool_call_chunk" }],
  }),
  "a system message": new SystemMessage("be brief"),
  "a tool's answer": new ToolMessage({
    content: "3",
    tool_call_id: "call",
    status: "error",
    artifact: { rows: [1, 2] },
  }),
  "a removal": new RemoveMessage({ id: "9" }),
  "a message of another role": new ChatMessage({ content: "x", role: "critic" }),
};

describe("messages", () => {
  it.each(Object.entries(messages))("brings %s back at once, as the library would", async (_, message) => {
    const encoded = codec.encode({ messages: [message], n: 1 });
    expect(encoded).not.toBeInstanceOf(Promise);
    const decoded = codec.decode(await encoded);
    expect(decoded).not.toBeInstanceOf(Promise);
    const [ours] = (decoded as { messages: unknown[] }).messages;
    const [theirs] = ((await stock({ messages: [message] })) as { messages: unknown[] }).messages;
    expect(ours?.constructor).toBe(message.constructor);
    expect(plain(ours)).toEqual(plain(theirs));
    expect(ours).toEqual(theirs);
  });

  it.each(Object.entries(messages))("writes %s so that the library can read it", async (_, message) => {
    const { type, text } = await codec.encode([message]);
    const [theirs] = (await kit.serde.loadsTyped(type, text)) as unknown[];
    const [expected] = (await stock([message])) as unknown[];
    expect(theirs).toEqual(expected);
  });

  it.each(Object.entries(messages))("reads %s as the library writes it", async (_, message) => {
    const [type, data] = await kit.serde.dumpsTyped([message]);
    const [ours] = (await codec.decode({ type, text: new TextDecoder().decode(data) })) as unknown[];
    const [expected] = (await stock([message])) as unknown[];
    expect(ours).toEqual(expected);
  });

  it("does not change the message it writes", () => {
    const message = new HumanMessage({ content: "x", additional_kwargs: { a: [1] } });
    const before = plain(message);
    codec.encode([message]);
    expect(plain(message)).toEqual(before);
  });

  it("sees what a node changed in place", async () => {
    const message = new HumanMessage("before");
    await codec.encode([message]);
    message.content = "after";
    const [back] = (await codec.decode(await codec.encode([message]))) as HumanMessage[];
    expect(back?.content).toBe("after");
  });

  it("leaves a subclass to the library", () => {
    class Mine extends HumanMessage {}
    expect(codec.encode(new Mine("x"))).toBeInstanceOf(Promise);
  });

  it("keeps data that only looks like a record of the library", async () => {
    const fake = { lc: 1, type: "constructor", id: ["nowhere", "Thing"], kwargs: {} };
    const message = new HumanMessage({ content: "x", additional_kwargs: { a: fake } });
    await expect(stock([fake])).rejects.toThrow("nowhere");
    expect(await codec.decode(await codec.encode({ fake }))).toEqual({ fake });
    const [back] = (await codec.decode(await codec.encode([message]))) as HumanMessage[];
    expect(back).toBeInstanceOf(HumanMessage);
    expect(JSON.stringify(back?.additional_kwargs)).toContain('"nowhere"');
  });
});

describe("other values", () => {
  it.each([
    ["null", null],
    ["text with NUL and half a surrogate pair", "a\0b \ud83d c"],
    ["nested plain data", { a: [1, { b: null, c: "é" }], d: true }],
    ["an undefined field", { a: undefined, b: [undefined] }],
    ["numbers JSON has no word for", { a: Number.NaN, b: Number.POSITIVE_INFINITY }],
    ["a Set", { a: new Set([1, 2]) }],
    ["a Map", new Map([["k", { v: 1 }]])],
    ["a RegExp", /a+/gi],
    ["an Error", new Error("broken")],
    ["a Date", { at: new Date(0) }],
    ["nested bytes", { raw: new Uint8Array([0, 255]) }],
    ["a Buffer inside", { raw: Buffer.from("hi") }],
    ["a function", { f: () => 1, g: 2 }],
    ["a Send", [new Send("node", { messages: [new HumanMessage("x")] })]],
    [
      "an object of a class",
      new (class Point {
        x = 1;
      })(),
    ],
    ["an object without prototype", Object.assign(Object.create(null), { a: 1 })],
  ])("gives %s the meaning the library gives it", async (_, value) => {
    expect(await codec.decode(await codec.encode(value))).toEqual(await stock(value));
  });

  it("keeps a key named __proto__ without touching any prototype", async () => {
    const value: unknown = JSON.parse('{"__proto__": {"polluted": true, "x": null}}');
    const back = (await codec.decode(await codec.encode({ value, other: undefined }))) as { value: object };
    expect(Object.getPrototypeOf(back.value)).toBe(Object.prototype);
    expect(Object.hasOwn(back.value, "__proto__")).toBe(true);
  });

  it("cuts a cycle as the library does", async () => {
    const value: Record<string, unknown> = { a: 1 };
    value.self = value;
    const theirs = await stock(value);
    expect(await codec.decode(await codec.encode(value))).toEqual(theirs);
  });

  it("survives nesting deeper than it follows by itself", async () => {
    let value: unknown = "bottom";
    for (let level = 0; level < 300; level += 1) value = [value];
    expect(await codec.decode(await codec.encode(value))).toEqual(value);
  });

  it("keeps bytes as bytes", async () => {
    const bytes = new Uint8Array([0, 1, 254, 255]).subarray(1, 3);
    const payload = await codec.encode(bytes);
    expect(payload).toEqual({ type: "bytes", text: "Af4=" });
    const back = await codec.decode(payload);
    expect(back).toBeInstanceOf(Uint8Array);
    expect(back).toEqual(new Uint8Array([1, 254]));
  });

  it("reads what a value of Python looks like, and never what Python makes it of", async () => {
    const message = plain(await codec.encode(new HumanMessage("hi"))) as { text: string };
    const view = `{"at":"2026-01-01T00:00:00","said":${message.text}}`;
    const payload = { type: "python", text: `{"view":${view},"data":"gqFhAQ=="}` };
    const value = (await codec.decode(payload)) as { at: string; said: HumanMessage };
    expect(value.at).toBe("2026-01-01T00:00:00");
    expect(value.said).toBeInstanceOf(HumanMessage);
    const wire = (await new WireCodec(codec).decode(payload)) as { said: object };
    expect(wire.said).toMatchObject({ type: "human", content: "hi" });
    const odd = { type: "python", text: '{"view":{"lc":2,"type":"x"},"data":""}' };
    expect(await codec.decode(odd)).toEqual({ lc: 2, type: "x" });
  });

  it("refuses a type it does not know", async () => {
    await expect(async () => codec.decode({ type: "pickle", text: "" })).rejects.toThrow("pickle");
  });

  it("does not treat a failure in user code as an unknown shape", () => {
    const value = Object.defineProperty({}, "x", {
      enumerable: true,
      get() {
        throw new RangeError("from a getter");
      },
    });
    expect(() => codec.encode(value)).toThrow("from a getter");
  });
});
