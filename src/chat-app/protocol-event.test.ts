import { AIMessage, HumanMessage } from "@langchain/core/messages";
import type { ProtocolEvent } from "@langchain/langgraph";
import { describe, expect, it } from "vitest";
import { toDrafts, toJson } from "./protocol-event.ts";

const event = (method: string, data: unknown, namespace: string[] = []): ProtocolEvent => ({
  type: "event",
  seq: 1,
  method,
  params: { namespace, timestamp: 5, data },
});

describe("toJson", () => {
  it("flattens messages wherever they are", () => {
    const message = new AIMessage({
      id: "m1",
      content: [{ type: "text", text: "hi" }],
      tool_calls: [{ id: "c1", name: "look", args: { at: 1 } }],
    });
    expect(toJson({ deep: [{ message }] })).toEqual({
      deep: [
        {
          message: expect.objectContaining({
            type: "ai",
            id: "m1",
            content: [{ type: "text", text: "hi" }],
            tool_calls: [expect.objectContaining({ id: "c1", name: "look", args: { at: 1 } })],
          }),
        },
      ],
    });
  });

  it("keeps what JSON knows and says what went wrong", () => {
    const at = new Date(0);
    expect(toJson({ a: null, b: [1, true], at, failed: new TypeError("no") })).toEqual({
      a: null,
      b: [1, true],
      at: at.toJSON(),
      failed: { name: "TypeError", message: "no" },
    });
  });
});

describe("toDrafts", () => {
  it("leaves the run's own beginning and end to the server, and passes on those of its parts", () => {
    expect(toDrafts(event("lifecycle", { event: "completed" }))).toEqual([]);
    expect(toDrafts(event("lifecycle", { event: "started" }, ["tools:1"]))).toHaveLength(1);
  });

  it("takes interrupts out of the values and asks for input", () => {
    const interrupts = [{ id: "i1", value: { question: "ok?" } }];
    const drafts = toDrafts(
      event("values", { messages: [new HumanMessage("x")], __interrupt__: interrupts }),
    );
    expect(drafts.map(({ method }) => method)).toEqual(["values", "input.requested"]);
    expect(drafts[0]!.params.data).not.toHaveProperty("__interrupt__");
    expect(drafts[1]!.params.data).toEqual({ interrupt_id: "i1", payload: { question: "ok?" } });
    expect(toDrafts(event("values", { __interrupt__: interrupts })).map(({ method }) => method)).toEqual([
      "input.requested",
    ]);
  });

  it("does not call a tool failed that waits for a person", () => {
    const waiting = JSON.stringify([{ id: "i1", value: {} }]);
    expect(toDrafts(event("tools", { event: "tool-error", tool_call_id: "c", message: waiting }))).toEqual(
      [],
    );
    for (const message of ["it broke", "[1, 2]", "{}"]) {
      expect(toDrafts(event("tools", { event: "tool-error", tool_call_id: "c", message }))).toHaveLength(1);
    }
  });

  it("parses a tool's input, and leaves text alone that is none", () => {
    const inputs = ['{"city":"Paris"}', "just words"].map(
      (input) => toDrafts(event("tools", { event: "tool-started", tool_name: "t", input }))[0]!.params.data,
    );
    expect(inputs).toMatchObject([{ input: { city: "Paris" } }, { input: "just words" }]);
  });
});
