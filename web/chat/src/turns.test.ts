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
    { kind: "human", id: "1", text: "weather?" },
    {
      kind: "assistant",
      id: "2",
      parts: [
        { kind: "tool", key: "c", call },
        { kind: "reasoning", key: "4-0", text: "hm" },
        { kind: "text", key: "4-1", text: "Rain." },
      ],
    },
    { kind: "human", id: "5", text: "thanks" },
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
