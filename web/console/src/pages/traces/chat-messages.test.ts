import { expect, it } from "vitest";
import { messagesOf } from "./chat-messages.ts";

it.each([
  ["messages of a graph", { messages: [{ type: "human", content: "hi" }] }, [["human", "hi"]]],
  [
    "batches of a model",
    { messages: [[{ role: "user", content: "a" }], [{ role: "user", content: "b" }]] },
    [
      ["user", "a"],
      ["user", "b"],
    ],
  ],
  [
    "serialized by a constructor",
    { messages: [{ lc: 1, id: ["langchain_core", "messages", "HumanMessage"], kwargs: { content: "hi" } }] },
    [["human", "hi"]],
  ],
  ["choices", { choices: [{ message: { role: "assistant", content: "yes" } }] }, [["assistant", "yes"]]],
  [
    "generations of plain text",
    { generations: [[{ text: "said", generation_info: null }]] },
    [["assistant", "said"]],
  ],
  ["pairs", [["system", "be kind"]], [["system", "be kind"]]],
  ["no messages at all", { question: "why" }, []],
  ["nothing", null, []],
])("%s", (_what, payload, expected) => {
  expect(messagesOf(payload).map(({ type, role, content }) => [type ?? role, content])).toEqual(expected);
});

it("thoughts and calls that came beside the text are part of the message", () => {
  const beside = { reasoning_content: "hm", tool_calls: [{ id: "c" }] };
  const [message] = messagesOf({ message: { type: "ai", content: "yes", additional_kwargs: beside } });
  expect(message).toMatchObject({
    content: [
      { type: "reasoning", reasoning: "hm" },
      { type: "text", text: "yes" },
    ],
    tool_calls: [{ id: "c" }],
  });
});
