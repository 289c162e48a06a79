import { AIMessage, AIMessageChunk, HumanMessage } from "@langchain/core/messages";
import { describe, expect, it } from "vitest";
import type { GraphChunk, GraphMode } from "../graph-runtime.ts";
import { RunEventMapper } from "./run-events.ts";

function chunk(mode: GraphMode, payload: unknown, namespace: string[] = []): GraphChunk {
  return { kind: "chunk", namespace, mode, payload };
}

/** Fails when it is serialized: that work was not asked for. */
const untouchable = {
  get large(): never {
    throw new Error("This state was written although nobody asked for it.");
  },
};

describe("a mode that was not asked for", () => {
  it("is not written", () => {
    const mapper = new RunEventMapper(["custom"]);
    for (const mode of ["values", "updates", "tasks", "checkpoints", "debug"] as const) {
      expect(mapper.map(chunk(mode, untouchable))).toEqual([]);
    }
  });

  it("gives its whole messages to the mode that has them, and nothing else of the state is written", () => {
    const mapper = new RunEventMapper(["messages"]);
    const question = new HumanMessage({ content: "two and two?", id: "1" });
    const state = { messages: [question], documents: untouchable };
    expect(mapper.map(chunk("values", state))).toEqual([
      {
        name: "messages/complete",
        namespace: "",
        data: [expect.objectContaining({ type: "human", content: "two and two?", id: "1" })],
      },
    ]);
    expect(mapper.map(chunk("values", state))).toEqual([]);
    expect(mapper.map(chunk("values", state, ["inner:1"]))).toEqual([]);
  });
});

describe("the mode messages", () => {
  it("sends a message's text so far, and it whole once the state has it", () => {
    const mapper = new RunEventMapper(["values", "messages"]);
    const names = (events: { name: string }[]) => events.map(({ name }) => name);
    const first = mapper.map(
      chunk("messages", [new AIMessageChunk({ content: "fo", id: "2" }), { step: 1 }]),
    );
    expect(names(first)).toEqual(["messages/metadata", "messages/partial"]);
    const next = mapper.map(chunk("messages", [new AIMessageChunk({ content: "ur", id: "2" }), { step: 1 }]));
    expect(next).toEqual([
      { name: "messages/partial", namespace: "", data: [expect.objectContaining({ content: "four" })] },
    ]);
    const whole = mapper.map(chunk("values", { messages: [new AIMessage({ content: "four", id: "2" })] }));
    expect(names(whole)).toEqual(["values", "messages/complete"]);
    expect(whole[1]).toMatchObject({ data: [{ type: "ai", content: "four", id: "2" }] });
  });
});
