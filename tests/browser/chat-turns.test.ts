import { AIMessage, AIMessageChunk, HumanMessage, ToolMessage } from "@langchain/core/messages";
import { describe, expect, it } from "vitest";
import { toTurns } from "../../web/chat/src/turns.ts";

const call = { id: "c1", name: "look", args: { at: "sky" } };

describe("toTurns", () => {
  it("makes one answer of all that follows a question", () => {
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
      { kind: "human", id: "h1", text: "What is there?" },
      {
        kind: "assistant",
        id: "a1",
        parts: [
          { kind: "reasoning", key: "a1-0", text: "I must look." },
          { kind: "tool", key: "c1", call: { ...call, result: { text: "clouds", failed: false } } },
          { kind: "text", key: "a2-0", text: "Clouds." },
        ],
      },
      { kind: "human", id: "h2", text: "Thanks" },
    ]);
  });

  it("reads plain JSON from the history alike", () => {
    const turns = toTurns([
      { type: "human", id: "h1", content: "Hi" },
      { type: "ai", id: "a1", content: "", tool_calls: [call] },
      { type: "tool", tool_call_id: "c1", content: "no", status: "error" },
    ]);
    expect(turns[1]).toMatchObject({
      parts: [{ call: { name: "look", result: { text: "no", failed: true } } }],
    });
  });

  it("shows a call while its arguments are still being written", () => {
    const message = new AIMessageChunk({
      id: "a1",
      content: "",
      tool_call_chunks: [{ type: "tool_call_chunk", id: "c1", name: "look", args: '{"at":"s', index: 0 }],
    });
    expect(toTurns([message])).toMatchObject([
      { parts: [{ kind: "tool", call: { id: "c1", name: "look" } }] },
    ]);
  });

  it("leaves out what says nothing: results without a call, empty text, instructions", () => {
    const turns = toTurns([
      { type: "system", id: "s", content: "Be nice." },
      { type: "tool", tool_call_id: "gone", content: "x" },
      { type: "ai", id: "a", content: "" },
    ]);
    expect(turns).toEqual([{ kind: "assistant", id: "a", parts: [] }]);
  });
});
