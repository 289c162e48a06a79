import { describe, expect, it } from "vitest";
import type { ChatMessage } from "../../ui/chat-message.ts";
import { conversationItems, messagesOf, noLiveMessages, shownMessages, withEvent } from "./live-messages.ts";

const piece = (id: string, content: unknown, more: object = {}) => [
  { id, type: "AIMessageChunk", content, ...more },
  { langgraph_node: "agent" },
];
const grown = (...events: [string, unknown][]) =>
  events.reduce((live, [name, data]) => withEvent(live, name, data), noLiveMessages);

describe("messages that grow", () => {
  it("are put together from their pieces", () => {
    const live = grown(["messages", piece("a", "Good ")], ["messages", piece("a", "morning")]);
    expect(shownMessages([], live)).toMatchObject([{ id: "a", content: "Good morning" }]);
  });

  it("also where they come in blocks", () => {
    const thought = (text: string) => [{ type: "reasoning", index: 0, reasoning: text }];
    const said = (text: string) => [{ type: "text", index: 1, text }];
    const live = grown(
      ["messages", piece("a", thought("hm"))],
      ["messages", piece("a", thought("m"))],
      ["messages", piece("a", said("yes"))],
    );
    expect(shownMessages([], live)[0]!.content).toEqual([
      { type: "reasoning", index: 0, reasoning: "hmm" },
      { type: "text", index: 1, text: "yes" },
    ]);
  });

  it("keep the tool calls they were sent with, and give way to the whole message", () => {
    const calls = [{ id: "c", name: "search" }];
    const live = grown(
      ["messages", piece("a", "x", { tool_calls: calls })],
      ["messages", piece("a", "y", { tool_calls: [] })],
    );
    expect(shownMessages([], live)).toMatchObject([{ content: "xy", tool_calls: calls }]);
    const whole = withEvent(live, "messages", [{ id: "a", type: "ai", content: "done" }, {}]);
    expect(shownMessages([], whole)).toEqual([{ id: "a", type: "ai", content: "done" }]);
  });

  it("grow also where a piece has the type of a whole message, as graphs in JavaScript send them", () => {
    const said = (content: string) => [{ id: "a", type: "ai", content, tool_call_chunks: [] }, {}];
    const live = grown(["messages", said("one ")], ["messages", said("two ")], ["messages", said("three")]);
    expect(shownMessages([], live)).toMatchObject([{ id: "a", content: "one two three" }]);
  });

  it("may come whole each time", () => {
    const live = grown(
      ["messages/partial", [{ id: "a", type: "ai", content: "one" }]],
      ["messages/partial", [{ id: "a", type: "ai", content: "one two" }]],
    );
    expect(shownMessages([], live)).toMatchObject([{ id: "a", content: "one two" }]);
  });

  it("of a subgraph stand apart, where they began", () => {
    const inner = (content: string) => [
      { id: "i", type: "ai", content, tool_call_chunks: [] },
      { langgraph_checkpoint_ns: "tools:1|researcher:2" },
    ];
    const state = { messages: [{ id: "h", type: "human", content: "look it up" }] };
    const live = grown(
      ["values", state],
      ["messages", piece("a", "I will")],
      ["messages|tools:1|researcher:2", inner("found ")],
      ["messages", inner("it")],
    );
    expect(shownMessages([], live).map(({ id }) => id)).toEqual(["h", "a"]);
    const [talk] = live.inner.values();
    expect(talk).toMatchObject({ namespace: "tools:1", path: ["tools"], after: 2 });
    expect([...talk!.messages.values()]).toMatchObject([{ content: "found it" }]);
    const places = (messages: ChatMessage[]) =>
      conversationItems(messages, live.inner).map((item) =>
        item.kind === "message" ? item.message.id : item.over,
      );
    expect(places(shownMessages([], live))).toEqual(["h", "a", false]);
    const answered = { messages: [...shownMessages([], live), { id: "t", type: "tool", content: "it" }] };
    expect(places(shownMessages([], withEvent(live, "values", answered)))).toEqual(["h", "a", true, "t"]);
  });

  it("are forgotten when the state has them", () => {
    const state = { messages: [{ id: "a", type: "ai", content: "all of it" }] };
    const live = grown(["messages", piece("a", "all")], ["values", state], ["messages", piece("b", "more")]);
    expect(shownMessages([], live).map(({ id, content }) => [id, content])).toEqual([
      ["a", "all of it"],
      ["b", "more"],
    ]);
  });

  it("and what is no message changes nothing", () => {
    expect(grown(["messages", "x"], ["messages", [{ id: "a" }]], ["updates", {}])).toBe(noLiveMessages);
  });
});

it("a state without messages has none, not an empty list", () => {
  expect(messagesOf({ count: 1 })).toBeNull();
  expect(messagesOf(null)).toBeNull();
  expect(messagesOf({ messages: [{ type: "human", content: "hi" }, "noise"] })).toHaveLength(1);
});
