import { readFile } from "node:fs/promises";
import {
  AIMessage,
  AIMessageChunk,
  HumanMessage,
  RemoveMessage,
  SystemMessage,
  ToolMessage,
} from "@langchain/core/messages";
import { Send } from "@langchain/langgraph";
import { beforeAll, describe, expect, it } from "vitest";
import { toWire } from "../../checkpoints/message-wire.ts";
import { loadServerKit } from "./graph-kit.ts";
import { type Codec, MessageCodec } from "./message-codec.ts";

/** Texts that both languages must read: `python/tests/test_goldens.py` reads ours and writes its own. */
const folder = new URL("../../../../python/tests/goldens/", import.meta.url);
type Golden = { name: string; type?: string; channel?: string; text: string; wire?: unknown };

const values: Record<string, unknown> = {
  nothing: null,
  "plain data": { a: [1, -2.5, true, null, "x"], b: { c: [] } },
  "text of all kinds": 'é 🌱 \u0000 \u2028 " \\ / \n',
  numbers: [0, 1, -1, 9007199254740991, 0.1, 1e21, 1e-7, 123456789.125],
  "a human message": new HumanMessage({ content: "hi", id: "1" }),
  "a human message with parts": new HumanMessage({
    content: [
      { type: "text", text: "look" },
      { type: "image_url", image_url: { url: "data:x" } },
    ],
    id: "2",
    name: "ann",
    additional_kwargs: { nested: { deep: [1, null] } },
    response_metadata: { snake_case: 1 },
  }),
  "an answer": new AIMessage({ content: "hello", id: "3" }),
  "an answer with tool calls": new AIMessage({
    content: "",
    id: "4",
    tool_calls: [{ name: "add", args: { a: 1, b: [2] }, id: "call", type: "tool_call" }],
    usage_metadata: { input_tokens: 1, output_tokens: 2, total_tokens: 3 },
  }),
  "a chunk": new AIMessageChunk({ content: "a", id: "5" }),
  "a system message": new SystemMessage({ content: "be brief", id: "6" }),
  "a tool's answer": new ToolMessage({
    content: "3",
    tool_call_id: "call",
    id: "7",
    name: "add",
    status: "success",
  }),
  "a removal": new RemoveMessage({ id: "1" }),
  "messages in data": {
    messages: [
      new HumanMessage({ content: "a", id: "8" }),
      { kept: [new AIMessage({ content: "b", id: "9" })] },
    ],
  },
  "a set": { set: new Set([1, 2]) },
  "a map": new Map([["k", 1]]),
  "what looks like a record": { lc: 1, type: "constructor", id: ["x"], kwargs: { a: 1 } },
};

/** What the other language writes as something simpler. */
const onlyHere: ReadonlySet<string> = new Set(["a map"]);

let codec: Codec;
beforeAll(async () => {
  codec = new MessageCodec(await loadServerKit());
});

describe("the texts of both languages", () => {
  it("ours are those that Python is tested with", async () => {
    const written: (Golden & { onlyThere?: boolean })[] = [];
    for (const [name, value] of Object.entries(values)) {
      const { type, text } = await codec.encode(value);
      expect(type).toBe("json");
      written.push({ name, text, wire: toWire(value), ...(onlyHere.has(name) ? { onlyThere: true } : {}) });
    }
    const { text } = await codec.encode([new Send("work", { n: 1 })]);
    written.push({ name: "sends", channel: "__pregel_tasks", text });
    const file = new URL("javascript.json", folder).pathname;
    await expect(`${JSON.stringify(written, null, 2)}\n`).toMatchFileSnapshot(file);
  });

  it("those of Python are read, written again and shown as Python shows them", async () => {
    const theirs = JSON.parse(await readFile(new URL("python.json", folder), "utf8")) as Golden[];
    expect(theirs.length).toBeGreaterThan(10);
    for (const { name, type = "json", text, wire } of theirs) {
      const value = await codec.decode({ type, text });
      expect([name, toWire(value)]).toEqual([name, wire]);
      if (type !== "json") continue;
      const again = await codec.encode(value);
      expect([name, JSON.parse(again.text)]).toEqual([name, JSON.parse(text)]);
    }
  });
});
