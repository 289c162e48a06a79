import { expect, it } from "vitest";
import { conversationTurns, type ThreadTrace } from "./conversation-turns.ts";

const trace = (id: string, inputs: unknown, outputs: unknown): ThreadTrace => ({
  trace_id: id,
  name: "agent",
  status: "SUCCESS",
  start_time: "2026-01-01T00:00:00Z",
  inputs,
  outputs,
});
const user = (content: string) => ({ role: "user", content });
const human = (content: string, id: string) => ({ type: "human", content, id });
const ai = (content: string, id: string) => ({ type: "ai", content, id });
const words = (traces: ThreadTrace[]) =>
  conversationTurns(traces).map(({ messages }) => messages.map(({ content }) => content));

it("a state that keeps the whole conversation adds only what is new", () => {
  const first = [human("hi", "1"), ai("hello", "2")];
  const second = [...first, human("hi", "3"), ai("again", "4")];
  expect(
    words([
      trace("a", { messages: [user("hi")] }, { messages: first }),
      trace("b", { messages: [user("hi")] }, { messages: second }),
    ]),
  ).toEqual([
    ["hi", "hello"],
    ["hi", "again"],
  ]);
});

it("clients that send the whole conversation each time add their last words alone", () => {
  const answer = { role: "assistant", content: "hello" };
  expect(
    words([
      trace("a", { messages: [user("hi")] }, answer),
      trace("b", { messages: [user("hi"), answer, user("more")] }, { role: "assistant", content: "done" }),
    ]),
  ).toEqual([
    ["hi", "hello"],
    ["more", "done"],
  ]);
});

it("the same words said twice are two messages, and payloads without messages are shown", () => {
  expect(
    words([trace("a", { question: "yes" }, { answer: "ok" }), trace("b", { question: "yes" }, null)]),
  ).toEqual([["yes", "ok"], ["yes"]]);
  expect(words([trace("a", { a: 1, b: 2 }, {})])).toEqual([[{ a: 1, b: 2 }]]);
});
