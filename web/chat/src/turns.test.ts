import { AIMessage, AIMessageChunk, HumanMessage, ToolMessage } from "@langchain/core/messages";
import { expect, it } from "vitest";
import { textOf, toTurns } from "./turns.ts";

it("everything between two questions is one answer, with its calls and their results", () => {
  const turns = toTurns([
    { id: "1", type: "human", content: "weather?" },
    { id: "2", type: "ai", content: "", tool_calls: [{ id: "c", name: "weather", args: { city: "Ulm" } }] },
    { id: "3", type: "tool", tool_call_id: "c", content: "rain", status: "error" },
    {
      id: "4",
      type: "ai",
      content: [
        { type: "reasoning", reasoning: "hm" },
        { type: "text", text: "Rain." },
      ],
    },
    { id: "5", type: "human", content: [{ type: "text", text: "thanks" }] },
  ]);
  const call = { id: "c", name: "weather", args: { city: "Ulm" }, result: { text: "rain", failed: true } };
  expect(turns).toEqual([
    { kind: "human", id: "1", text: "weather?", files: [] },
    {
      kind: "assistant",
      id: "2",
      lastId: "4",
      parts: [
        { kind: "tool", key: "c", call },
        { kind: "reasoning", key: "4-0", text: "hm" },
        { kind: "text", key: "4-1", text: "Rain." },
      ],
    },
    { kind: "human", id: "5", text: "thanks", files: [] },
  ]);
});

it("a call is there once, also while it is still written", () => {
  const written = { id: "c", name: "search", args: '{"q": "lo' };
  const [turn] = toTurns([
    { id: "1", type: "ai", content: "", tool_call_chunks: [written] },
    { id: "2", type: "ai", content: "", tool_calls: [{ ...written, args: { q: "loom" } }] },
  ]);
  expect(turn).toMatchObject({ parts: [{ call: { args: '{"q": "lo' } }] });
});

it("what is neither text nor blocks has no words", () => {
  expect(textOf(undefined)).toBe("");
  expect(textOf([{ type: "image" }, { type: "text", text: "a" }])).toBe("a");
});

const call = { id: "c1", name: "look", args: { at: "sky" } };

it("messages as objects of the library make one answer too", () => {
  const turns = toTurns([
    new HumanMessage({ id: "h1", content: "What is there?" }),
    new AIMessage({
      id: "a1",
      content: [{ type: "reasoning", reasoning: "I must look." }],
      tool_calls: [call],
    }),
    new ToolMessage({ id: "t1", tool_call_id: "c1", content: "clouds" }),
    new AIMessage({ id: "a2", content: "Clouds." }),
    new HumanMessage({ id: "h2", content: [{ type: "text", text: "Thanks" }] }),
  ]);
  expect(turns).toEqual([
    { kind: "human", id: "h1", text: "What is there?", files: [] },
    {
      kind: "assistant",
      id: "a1",
      lastId: "a2",
      parts: [
        { kind: "reasoning", key: "a1-0", text: "I must look." },
        { kind: "tool", key: "c1", call: { ...call, result: { text: "clouds", failed: false } } },
        { kind: "text", key: "a2-0", text: "Clouds." },
      ],
    },
    { kind: "human", id: "h2", text: "Thanks", files: [] },
  ]);
});

it("a call of a chunk shows while its arguments are still being written", () => {
  const message = new AIMessageChunk({
    id: "a1",
    content: "",
    tool_call_chunks: [{ type: "tool_call_chunk", id: "c1", name: "look", args: '{"at":"s', index: 0 }],
  });
  expect(toTurns([message])).toMatchObject([{ parts: [{ kind: "tool", call: { id: "c1", name: "look" } }] }]);
});

it("what has no words is left out: results without a call, empty text, instructions", () => {
  const turns = toTurns([
    { type: "system", id: "s", content: "Be nice." },
    { type: "tool", tool_call_id: "gone", content: "x" },
    { type: "ai", id: "a", content: "" },
  ]);
  expect(turns).toEqual([{ kind: "assistant", id: "a", lastId: "a", parts: [] }]);
});
